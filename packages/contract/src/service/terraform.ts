import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Reference, Text, Uuid, Words, Named } from '../shape.ts';
import { DryRun } from '../shared/deployment.ts';
import { terraformActions, terraformEngines } from '../shared/words.ts';
import { advancedSettingsOperations, terraformSettings } from './advanced-settings.ts';
import { kinds } from './kinds.ts';
import { GitRepository, GitRepositoryRequest } from './parts.ts';
import * as shared from './shared-operations.ts';

const AutoDeploy = Named(
  'TerraformAutoDeploy',
  Type.Object({ auto_deploy: Type.Boolean(), terraform_action: Words(['DEFAULT', 'PLAN', 'NOOP'] as const) }),
);
const ProviderVersion = Named(
  'TerraformProviderVersion',
  Type.Object({
    read_from_terraform_block: Type.Optional(Type.Boolean()),
    explicit_version: Type.String(),
  }),
);
const JobResources = Named(
  'TerraformJobResources',
  Type.Object({
    cpu_milli: Type.Integer(),
    ram_mib: Type.Integer(),
    gpu: Type.Integer(),
    storage_gib: Type.Integer(),
  }),
);
const none = Type.Object({});
const ExtraArguments = Type.Record(Type.String(), Type.Array(Type.String()));
const Fragment = Named(
  'TerraformDockerfileFragment',
  Type.Object({
    type: Words(['file', 'inline'] as const),
    path: Type.Optional(Type.String()),
    content: Type.Optional(Type.String()),
  }),
);

export const Terraform = Named(
  'Terraform',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    updated_at: Type.Optional(DateTime),
    environment: Reference,
    name: Type.String(),
    description: Type.Optional(Type.String()),
    timeout_sec: Type.Integer(),
    auto_deploy: Type.Boolean(),
    auto_deploy_config: AutoDeploy,
    terraform_files_source: Type.Object({ git: Type.Object({ git_repository: GitRepository }) }),
    terraform_variables_source: Named(
      'TerraformVariablesSource',
      Type.Object({
        tf_var_file_paths: Type.Array(Type.String()),
        // The values of secrets are omitted.
        tf_vars: Type.Array(
          Named(
            'TerraformVariable',
            Type.Object({ key: Type.String(), value: Type.Optional(Type.String()), secret: Type.Boolean() }),
          ),
        ),
      }),
    ),
    // Exactly one of the three members is set.
    backend: Named(
      'TerraformBackend',
      Type.Object({
        kubernetes: Type.Optional(none),
        user_provided: Type.Optional(none),
        blueprint: Type.Optional(
          Named(
            'TerraformBackendBlueprint',
            Type.Object({ type: Type.String(), config: Type.Record(Type.String(), Type.String()) }),
          ),
        ),
      }),
    ),
    engine: Words(terraformEngines),
    provider_version: ProviderVersion,
    job_resources: JobResources,
    use_cluster_credentials: Type.Boolean(),
    action_extra_arguments: ExtraArguments,
    dockerfile_fragment: Type.Optional(Nullable(Fragment)),
    icon_uri: Type.String(),
    service_type: Words(['TERRAFORM'] as const),
  }),
);

const path = Type.String({ minLength: 1, maxLength: 1000 });
const most = 2_147_483_647;

const FilesRequest = Named(
  'TerraformFilesRequest',
  Type.Object({ git_repository: Type.Optional(Nullable(GitRepositoryRequest)) }),
);
const VariablesRequest = Named(
  'TerraformVariablesRequest',
  Type.Object({
    tf_var_file_paths: Type.Optional(Nullable(Type.Array(path, { maxItems: 100 }))),
    tf_vars: Type.Optional(
      Nullable(
        Type.Array(
          Named(
            'TerraformVariableRequest',
            Type.Object({
              key: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
              value: Type.Optional(Nullable(Type.String({ maxLength: 100_000 }))),
              secret: Type.Optional(Nullable(Type.Boolean())),
            }),
          ),
          { maxItems: 500 },
        ),
      ),
    ),
  }),
);
const BackendRequest = Named(
  'TerraformBackendRequest',
  Type.Object({
    kubernetes: Type.Optional(Nullable(none)),
    user_provided: Type.Optional(Nullable(none)),
    blueprint: Type.Optional(
      Nullable(
        Named(
          'TerraformBackendRequestBlueprint',
          Type.Object({
            type: Type.String({ minLength: 1, maxLength: 63 }),
            config: Type.Optional(Nullable(Type.Record(Type.String(), Type.String({ maxLength: 10_000 })))),
          }),
        ),
      ),
    ),
  }),
);
const JobResourcesRequest = Named(
  'TerraformJobResourcesRequest',
  Type.Object({
    cpu_milli: Type.Integer({ minimum: 10, maximum: most }),
    ram_mib: Type.Integer({ minimum: 64, maximum: most }),
    gpu: Type.Optional(Nullable(Type.Integer({ default: 0, minimum: 0, maximum: 1024 }))),
    storage_gib: Type.Integer({ minimum: 1, maximum: 65_536 }),
  }),
);

const fields = {
  description: Type.Optional(Nullable(Text)),
  auto_deploy_config: Type.Optional(Nullable(AutoDeploy)),
  terraform_variables_source: Type.Optional(Nullable(VariablesRequest)),
  backend: Type.Optional(Nullable(BackendRequest)),
  engine: Type.Optional(Nullable(Words(terraformEngines))),
  provider_version: Type.Optional(
    Nullable(
      Type.Object({
        read_from_terraform_block: Type.Optional(Nullable(Type.Boolean())),
        explicit_version: Type.Optional(Nullable(Type.String({ maxLength: 63 }))),
      }),
    ),
  ),
  timeout_sec: Type.Optional(Nullable(Type.Integer({ default: 600, minimum: 0, maximum: 86_400 }))),
  icon_uri: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 2000 }))),
  job_resources: Type.Optional(Nullable(JobResourcesRequest)),
  use_cluster_credentials: Type.Optional(Nullable(Type.Boolean())),
  action_extra_arguments: Type.Optional(
    Nullable(Type.Record(Type.String(), Type.Array(Type.String({ minLength: 1, maxLength: 10_000 }), { maxItems: 100 }))),
  ),
  dockerfile_fragment: Type.Optional(
    Nullable(
      Named(
        'TerraformDockerfileFragmentRequest',
        Type.Object({
          type: Words(['file', 'inline'] as const),
          path: Type.Optional(Nullable(path)),
          content: Type.Optional(Nullable(Type.String({ maxLength: 100_000 }))),
        }),
      ),
    ),
  ),
};

const TerraformRequest = Named('TerraformRequest', Type.Object({ name: Name, terraform_files_source: FilesRequest, ...fields }));
const TerraformEditRequest = Named(
  'TerraformEditRequest',
  Type.Object({
    name: Type.Optional(Name),
    terraform_files_source: Type.Optional(Nullable(FilesRequest)),
    ...fields,
  }),
);

const DeployRequest = Named(
  'TerraformDeployRequest',
  Type.Object({
    id: Type.Optional(Nullable(Uuid)),
    git_commit_id: Type.Optional(Nullable(Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }))),
    action: Type.Optional(Nullable(Words(terraformActions))),
  }),
);

/** Whether the resources that Terraform created are destroyed as well. */
const Removal = Type.Partial(Type.Object({ force_terraform_action: Words(['SKIP_DESTROY'] as const) }));

const actions = shared.deployOperations(kinds.TERRAFORM, {
  query: DryRun,
  body: DeployRequest,
  answer: Type.Object({}),
  summary:
    'Plan and apply a Terraform configuration: the newest commit of its branch or `git_commit_id`. `action`: only plan, unlock the state, or migrate the state to the current backend',
});
const records = shared.recordOperations(kinds.TERRAFORM, {
  record: Terraform,
  create: TerraformRequest,
  edit: TerraformEditRequest,
});

export const terraformOperations = {
  ...records,
  delete: {
    ...records.delete,
    summary:
      'Delete a Terraform configuration after destroying its resources; `resources_only` destroys them and keeps the record, `force_terraform_action=SKIP_DESTROY` leaves the resources in place',
    query: Type.Object({ ...Removal.properties, resources_only: Type.Optional(Type.Boolean({ default: false })) }),
  },
  ...actions,
  uninstall: {
    ...actions.uninstall,
    summary:
      'Destroy the resources of a Terraform configuration; its record stays. `force_terraform_action=SKIP_DESTROY` only discards its state. 204: nothing was deployed',
    query: Removal,
  },
  ...shared.historyOperations(kinds.TERRAFORM),
  ...advancedSettingsOperations(kinds.TERRAFORM, { Word: 'Terraform', ...terraformSettings }),
  ...shared.cloneOperations(kinds.TERRAFORM, Terraform),
};

export const listTerraformVersions = operation({
  id: 'listTerraformVersions',
  method: 'GET',
  path: '/terraform/availableVersion',
  tag: kinds.TERRAFORM.Noun,
  summary: 'List the versions of Terraform and OpenTofu that this machine has',
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: List(Named('TerraformVersion', Type.Object({ engine: Words(terraformEngines), version: Type.String() }))),
  errors: [],
});
