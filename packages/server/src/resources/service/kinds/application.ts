import { kinds } from '@davit/contract';
import { hasControlCharacter, leavesRoot, type Problems } from '../../shared/problems.ts';
import { toGroupRecords, type Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import { parseCommand } from '../shapes/command.ts';
import { toGitRepository, type GitRepositorySpec } from '../shapes/git.ts';
import { toGroups, type GroupsSpec } from '../shapes/groups.ts';
import { toPorts, type PortSpec, type ReservedPorts } from '../shapes/ports.ts';
import { toHealthchecks, type HealthchecksSpec } from '../shapes/probe.ts';
import type { CreateRequest, EditRequest, ServiceRecord } from '../shapes/request.ts';
import { toStorage, type StorageSpec } from '../shapes/storage.ts';

/** What a user can set of an application, in the contract's words, with defaults applied. Stored as it is. */
export interface ApplicationSpec extends GroupsSpec {
  readonly description: string;
  readonly icon_uri: string;
  readonly build_mode: 'DOCKER';
  readonly dockerfile_path: string;
  readonly docker_target_build_stage: string | null;
  readonly cpu: number;
  readonly memory: number;
  readonly gpu: number;
  readonly min_running_instances: number;
  readonly max_running_instances: number;
  readonly auto_preview: boolean;
  readonly auto_deploy: boolean;
  readonly arguments: readonly string[];
  readonly entrypoint: string | null;
  readonly ports: readonly PortSpec[];
  readonly storage: readonly StorageSpec[];
  readonly healthchecks: HealthchecksSpec;
  readonly git_repository: GitRepositorySpec;
}

/** What the cluster gives to one service at most; null: it does not answer, so nothing is known. */
export interface Caps {
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
}

/** What a request is checked against. */
export interface SpecRules {
  readonly problems: Problems;
  readonly caps: Caps | null;
  readonly reserved: ReservedPorts;
  readonly allowLocalRepositories: boolean;
  /** Of the environment: what a new service has when its request says nothing. */
  readonly autoPreview: boolean;
}

const icon = `app://davit-console/${kinds.APPLICATION.icon}`;
// No cluster driver of this version can give a service a GPU.
const maximumGpu = 0;

const blank: Omit<ApplicationSpec, 'git_repository' | 'auto_preview'> = {
  description: '',
  icon_uri: icon,
  build_mode: 'DOCKER',
  dockerfile_path: 'Dockerfile',
  docker_target_build_stage: null,
  cpu: 500,
  memory: 512,
  gpu: 0,
  min_running_instances: 1,
  max_running_instances: 1,
  auto_deploy: false,
  arguments: [],
  entrypoint: null,
  ports: [],
  storage: [],
  healthchecks: { readiness_probe: null, liveness_probe: null },
};

/** The spec of a new application. What is wrong is added to `rules.problems`. */
export function newApplication(request: CreateRequest, rules: SpecRules): ApplicationSpec {
  const repository = { problems: rules.problems, allowLocal: rules.allowLocalRepositories };
  const former: ApplicationSpec = {
    ...blank,
    // Without a wish for a maximum it follows the minimum.
    max_running_instances: Math.max(1, request.min_running_instances ?? 1),
    auto_preview: rules.autoPreview,
    git_repository: toGitRepository(request.git_repository, null, repository),
  };
  return merged({ ...request, git_repository: undefined }, former, rules);
}

/**
 * The spec after an edit. What is left out stays; a list replaces the former list; `healthchecks` replaces both probes. null
 * empties what can be empty, and is as good as left out elsewhere.
 */
export function editedApplication(request: EditRequest, former: ApplicationSpec, rules: SpecRules): ApplicationSpec {
  return merged(request, former, rules);
}

function merged(request: EditRequest, former: ApplicationSpec, rules: SpecRules): ApplicationSpec {
  const { problems } = rules;
  const repository = { problems, allowLocal: rules.allowLocalRepositories };
  const spec: ApplicationSpec = {
    description: request.description === undefined ? former.description : (request.description ?? ''),
    icon_uri: request.icon_uri ?? former.icon_uri,
    build_mode: request.build_mode ?? former.build_mode,
    dockerfile_path:
      request.dockerfile_path === undefined ? former.dockerfile_path : (request.dockerfile_path ?? blank.dockerfile_path),
    docker_target_build_stage:
      request.docker_target_build_stage === undefined
        ? former.docker_target_build_stage
        : request.docker_target_build_stage || null,
    cpu: request.cpu ?? former.cpu,
    memory: request.memory ?? former.memory,
    gpu: request.gpu ?? former.gpu,
    min_running_instances: request.min_running_instances ?? former.min_running_instances,
    max_running_instances: request.max_running_instances ?? former.max_running_instances,
    auto_preview: request.auto_preview ?? former.auto_preview,
    auto_deploy: request.auto_deploy ?? former.auto_deploy,
    arguments: request.arguments ?? former.arguments,
    entrypoint: request.entrypoint === undefined ? former.entrypoint : request.entrypoint || null,
    ports: request.ports ? toPorts(request.ports, former.ports, rules) : former.ports,
    storage: request.storage ? toStorage(request.storage, former.storage, problems) : former.storage,
    healthchecks: request.healthchecks ? toHealthchecks(request.healthchecks, problems) : former.healthchecks,
    git_repository: request.git_repository
      ? toGitRepository(request.git_repository, former.git_repository, repository)
      : former.git_repository,
    ...toGroups(request, former),
  };
  checkBuild(spec, problems);
  checkResources(spec, request, rules);
  return spec;
}

function checkBuild(spec: ApplicationSpec, problems: Problems): void {
  const { dockerfile_path: path, docker_target_build_stage: stage } = spec;
  if (path === '' || path.startsWith('/') || path.startsWith('-') || leavesRoot(path) || hasControlCharacter(path)) {
    problems.add('dockerfile_path', 'must be a path relative to git_repository.root_path, such as Dockerfile, without ..');
  }
  if (stage !== null && !/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(stage)) {
    problems.add('docker_target_build_stage', 'must be the name of a stage, as in FROM … AS <name>: letters, digits, _ . -');
  }
  const command = parseCommand(spec.entrypoint ?? '');
  if ('fault' in command) problems.add('entrypoint', `${command.fault}; quote it as for a shell`);
}

function checkResources(spec: ApplicationSpec, request: EditRequest, { problems, caps }: SpecRules): void {
  const { min_running_instances: least, max_running_instances: most } = spec;
  if (most !== -1 && least > most) {
    if (request.max_running_instances === undefined) {
      problems.add(
        'min_running_instances',
        `must not be above max_running_instances (${most}); raise that too, -1 means no limit`,
      );
    } else {
      problems.add('max_running_instances', `must not be below min_running_instances (${least}); -1 means no limit`);
    }
  }
  // What was accepted once stays editable on a machine that became smaller.
  if (caps !== null && request.cpu && spec.cpu > caps.cpuMillicores) {
    problems.add('cpu', `must be at most ${caps.cpuMillicores} millicores: what the cluster has (maximum_cpu)`);
  }
  if (caps !== null && request.memory && spec.memory > caps.memoryMiB) {
    problems.add('memory', `must be at most ${caps.memoryMiB} MB: what the cluster has (maximum_memory)`);
  }
  if (request.gpu && spec.gpu > maximumGpu) problems.add('gpu', `must be ${maximumGpu}: the cluster has no GPU (maximun_gpu)`);
}

/** The contract's record. `groups`: those that the spec names. */
export function toApplicationRecord(row: ServiceRow, caps: Caps | null, groups?: Groups): ServiceRecord {
  const { spec } = row;
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    environment: { id: row.environment_id },
    name: row.name,
    description: spec.description,
    service_type: kinds.APPLICATION.type,
    icon_uri: spec.icon_uri,
    build_mode: spec.build_mode,
    dockerfile_path: spec.dockerfile_path,
    docker_target_build_stage: spec.docker_target_build_stage,
    cpu: spec.cpu,
    memory: spec.memory,
    gpu: spec.gpu,
    ...(caps === null ? {} : { maximum_cpu: caps.cpuMillicores, maximum_memory: caps.memoryMiB }),
    maximun_gpu: maximumGpu,
    min_running_instances: spec.min_running_instances,
    max_running_instances: spec.max_running_instances,
    auto_preview: spec.auto_preview,
    auto_deploy: spec.auto_deploy,
    arguments: [...spec.arguments],
    ...(spec.entrypoint === null ? {} : { entrypoint: spec.entrypoint }),
    ports: spec.ports.map(toPortRecord),
    storage: [...spec.storage],
    healthchecks: spec.healthchecks,
    git_repository: toGitRecord(row),
    ...toGroupRecords(spec, groups),
  };
}

function toPortRecord(port: PortSpec): NonNullable<ServiceRecord['ports']>[number] {
  const { external_port, public_path, public_path_rewrite, ...always } = port;
  return {
    ...always,
    ...(external_port === null ? {} : { external_port }),
    ...(public_path === null ? {} : { public_path }),
    ...(public_path_rewrite === null ? {} : { public_path_rewrite }),
  };
}

function toGitRecord({
  spec,
  git_token_name,
  deployed_commit: commit,
}: ServiceRow): NonNullable<ServiceRecord['git_repository']> {
  const { branch, ...repository } = spec.git_repository;
  return {
    has_access: true,
    ...repository,
    ...(branch === null ? {} : { branch }),
    git_token_name,
    ...(commit === null ? {} : { deployed_commit_id: commit.id }),
    ...(commit?.createdAt === undefined ? {} : { deployed_commit_date: commit.createdAt }),
    ...(commit?.authorName === undefined ? {} : { deployed_commit_contributor: commit.authorName }),
    ...(commit?.tag === undefined ? {} : { deployed_commit_tag: commit.tag }),
  };
}
