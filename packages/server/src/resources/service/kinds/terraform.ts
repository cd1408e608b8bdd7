import { kinds, type Body, type operations, type Response } from '@davit/contract';
import type { ReleaseSource } from '@davit/engine/port';
import type { ServiceRow } from '../rows.ts';
import { toGitRepository, type GitRepositorySpec } from '../shapes/git.ts';
import { toGitRecord } from '../shapes/git-record.ts';
import {
  toBackend,
  toExtraArguments,
  toFragment,
  toProviderVersion,
  type BackendSpec,
  type FragmentSpec,
  type ProviderVersionSpec,
} from '../shapes/terraform.ts';
import { toTerraformVariables, toVariablesRecord, type TerraformVariablesSpec } from '../shapes/terraform-variables.ts';
import { defineKind, type SourceRow } from './kind.ts';
import type { ServiceSpec, SpecRules } from '../spec.ts';
import { maximumGpu, noProcess } from './process.ts';
import { recordHead } from './record-head.ts';

type CreateRequest = Body<(typeof operations)['createTerraform']>;
type EditRequest = Body<(typeof operations)['editTerraform']>;
type DeployRequest = Body<(typeof operations)['deployTerraform']>;
type TerraformRecord = Response<(typeof operations)['getTerraform']>;

/** The settings of a Terraform configuration that users can change, with defaults applied. Stored in this form. */
export interface TerraformSpec extends ServiceSpec {
  readonly description: string;
  readonly timeout_sec: number;
  readonly auto_deploy_config: TerraformRecord['auto_deploy_config'];
  readonly git_repository: GitRepositorySpec;
  readonly terraform_variables_source: TerraformVariablesSpec;
  readonly backend: BackendSpec;
  readonly engine: TerraformRecord['engine'];
  readonly provider_version: ProviderVersionSpec;
  readonly job_resources: TerraformRecord['job_resources'];
  readonly use_cluster_credentials: boolean;
  readonly action_extra_arguments: Readonly<Record<string, readonly string[]>>;
  readonly dockerfile_fragment: FragmentSpec | null;
}

const repositoryPath = 'terraform_files_source.git_repository';

/** The kind of services that plan and apply a Terraform configuration. */
export const terraform = defineKind({
  type: kinds.TERRAFORM.type,
  // Runs in the first stage, as the other services use the resources that it creates.
  stageName: 'DATABASE DEFAULT',
  hostPrefix: 'terraform',
  requestPrefixes: { docker: 'terraform_files_source.', image: '' },
  create: newTerraform,
  edit: editedTerraform,
  record: toTerraformRecord,
  workload: ({ job_resources }: TerraformSpec) => ({
    ...noProcess,
    cpu: job_resources.cpu_milli,
    memory: job_resources.ram_mib,
  }),
  source: ({ spec }: SourceRow<TerraformSpec>): ReleaseSource => ({
    type: 'TERRAFORM',
    action: 'APPLY',
    git: {
      url: spec.git_repository.url,
      branch: spec.git_repository.branch,
      rootPath: spec.git_repository.root_path,
      gitTokenId: spec.git_repository.git_token_id,
    },
    engine: spec.engine,
    version: spec.provider_version.read_from_terraform_block ? null : spec.provider_version.explicit_version || null,
    backend: spec.backend,
    variableFiles: spec.terraform_variables_source.tf_var_file_paths,
    variables: spec.terraform_variables_source.tf_vars.map(({ key, value, secret_id }) => ({
      name: key,
      parts: secret_id === null ? [value] : [{ secret: secret_id }],
    })),
    extraArguments: spec.action_extra_arguments,
    timeoutSeconds: spec.timeout_sec,
    storageGiB: spec.job_resources.storage_gib,
    hasFragment: spec.dockerfile_fragment !== null,
  }),
  choice: (request: DeployRequest) => ({
    releaseId: null,
    commitId: request?.git_commit_id?.toLowerCase() ?? null,
    ...(request?.action && { terraformAction: request.action }),
  }),
});

function newTerraform(request: CreateRequest, rules: SpecRules): TerraformSpec {
  const former: TerraformSpec = {
    description: '',
    icon_uri: `app://davit-console/${kinds.TERRAFORM.icon}`,
    timeout_sec: 600,
    auto_deploy_config: { auto_deploy: false, terraform_action: 'DEFAULT' },
    git_repository: repositoryOf(request, null, rules),
    terraform_variables_source: { tf_var_file_paths: [], tf_vars: [] },
    backend: { kubernetes: {} },
    engine: 'TERRAFORM',
    provider_version: { read_from_terraform_block: true, explicit_version: '' },
    job_resources: { cpu_milli: 500, ram_mib: 512, gpu: 0, storage_gib: 1 },
    use_cluster_credentials: false,
    action_extra_arguments: {},
    dockerfile_fragment: null,
  };
  return editedTerraform({ ...request, terraform_files_source: null }, former, rules);
}

/** Returns the spec after a request. Omitted members stay. A list or map replaces the former one. */
function editedTerraform(request: EditRequest, former: TerraformSpec, rules: SpecRules): TerraformSpec {
  const { problems } = rules;
  const resources = request.job_resources;
  const spec: TerraformSpec = {
    description: request.description === undefined ? former.description : (request.description ?? ''),
    icon_uri: request.icon_uri ?? former.icon_uri,
    timeout_sec: request.timeout_sec ?? former.timeout_sec,
    auto_deploy_config: request.auto_deploy_config ?? former.auto_deploy_config,
    git_repository: request.terraform_files_source ? repositoryOf(request, former, rules) : former.git_repository,
    terraform_variables_source: request.terraform_variables_source
      ? toTerraformVariables(request.terraform_variables_source, former.terraform_variables_source, rules)
      : former.terraform_variables_source,
    backend: request.backend ? toBackend(request.backend, problems) : former.backend,
    engine: request.engine ?? former.engine,
    provider_version: request.provider_version ? toProviderVersion(request.provider_version, problems) : former.provider_version,
    job_resources: resources ? { ...resources, gpu: resources.gpu ?? 0 } : former.job_resources,
    use_cluster_credentials: request.use_cluster_credentials ?? former.use_cluster_credentials,
    action_extra_arguments:
      request.action_extra_arguments === undefined
        ? former.action_extra_arguments
        : toExtraArguments(request.action_extra_arguments ?? {}, problems),
    dockerfile_fragment:
      request.dockerfile_fragment === undefined
        ? former.dockerfile_fragment
        : request.dockerfile_fragment && toFragment(request.dockerfile_fragment, problems),
  };
  if (resources) checkResources(spec, rules);
  return spec;
}

function repositoryOf(request: EditRequest, former: TerraformSpec | null, rules: SpecRules): GitRepositorySpec {
  const { problems } = rules;
  const repository = request.terraform_files_source?.git_repository;
  // Placeholder for the remaining checks: a request without a repository is refused.
  const nowhere = { url: 'https://git.example.org/a/b.git' };
  if (!repository) problems.add(repositoryPath, 'is required: where the configuration is');
  return toGitRepository(repository ?? nowhere, former?.git_repository ?? null, {
    problems,
    allowLocal: rules.allowLocalRepositories,
    at: repositoryPath,
  });
}

function checkResources({ job_resources: { cpu_milli, ram_mib, gpu } }: TerraformSpec, { problems, caps }: SpecRules): void {
  const at = 'job_resources';
  if (caps !== null && cpu_milli > caps.cpuMillicores) {
    problems.add(`${at}.cpu_milli`, `must be at most ${caps.cpuMillicores} millicores: what the cluster has`);
  }
  if (caps !== null && ram_mib > caps.memoryMiB) {
    problems.add(`${at}.ram_mib`, `must be at most ${caps.memoryMiB} MiB: what the cluster has`);
  }
  if (gpu > maximumGpu) problems.add(`${at}.gpu`, `must be ${maximumGpu}: the cluster has no GPU`);
}

function toTerraformRecord(row: ServiceRow<TerraformSpec>): TerraformRecord {
  const { spec } = row;
  return {
    ...recordHead(row, kinds.TERRAFORM.type),
    description: spec.description,
    icon_uri: spec.icon_uri,
    timeout_sec: spec.timeout_sec,
    auto_deploy: spec.auto_deploy_config.auto_deploy,
    auto_deploy_config: spec.auto_deploy_config,
    terraform_files_source: {
      git: { git_repository: toGitRecord(spec.git_repository, row.git_token_name, row.deployed_commit) },
    },
    terraform_variables_source: toVariablesRecord(spec.terraform_variables_source),
    backend: spec.backend,
    engine: spec.engine,
    provider_version: spec.provider_version,
    job_resources: spec.job_resources,
    use_cluster_credentials: spec.use_cluster_credentials,
    action_extra_arguments: Object.fromEntries(
      Object.entries(spec.action_extra_arguments).map(([command, list]) => [command, [...list]]),
    ),
    dockerfile_fragment: spec.dockerfile_fragment,
  };
}
