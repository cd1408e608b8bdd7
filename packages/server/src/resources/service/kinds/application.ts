import { hasControlCharacter } from '@davit/base';
import { kinds } from '@davit/contract';
import { invalid, leavesRoot, type Problems } from '../../shared/problems.ts';
import { toCommit } from '../../shared/history-details.ts';
import type { Groups } from '../groups.ts';
import type { ServiceRow } from '../rows.ts';
import { toAutoscalingRecord } from '../shapes/autoscaling.ts';
import { plainPath, toGitRepository, type GitRepositorySpec } from '../shapes/git.ts';
import { toGitRecord } from '../shapes/git-record.ts';
import type { ApplicationRecord, CreateRequest, DeployRequest, EditRequest } from '../shapes/request.ts';
import { defineKind, type SourceRow } from './kind.ts';
import type { Caps, SpecRules } from '../spec.ts';
import { blankProcess, maximumGpu, mergedProcess, processRecord, type ProcessSpec } from './process.ts';
import { recordHead } from './record-head.ts';

/**
 * The settings of an application that users can change, in the contract's terms and with defaults applied. Stored in
 * this form.
 */
export interface ApplicationSpec extends ProcessSpec {
  readonly build_mode: 'DOCKER';
  readonly dockerfile_path: string;
  readonly docker_target_build_stage: string | null;
  readonly git_repository: GitRepositorySpec;
}

/** The kind of services that are built from a Dockerfile of a git repository. */
export const application = defineKind({
  type: kinds.APPLICATION.type,
  stageName: 'APPLICATION DEFAULT',
  hostPrefix: 'app',
  create: newApplication,
  edit: editedApplication,
  record: toApplicationRecord,
  workload: (spec: ApplicationSpec) => spec,
  source: ({ spec }: SourceRow<ApplicationSpec>) => ({
    type: 'GIT',
    url: spec.git_repository.url,
    branch: spec.git_repository.branch,
    rootPath: spec.git_repository.root_path,
    dockerfilePath: plainPath(spec.dockerfile_path),
    targetStage: spec.docker_target_build_stage,
    gitTokenId: spec.git_repository.git_token_id,
  }),
  // The older history has words for two results only. Running and canceled deployments have no such word.
  oldHistory: (view) => ({
    commit: toCommit(view.commit, view.createdAt),
    status: view.actionStatus === 'ERROR' ? 'FAILED' : view.actionStatus === 'SUCCESS' ? 'SUCCESS' : undefined,
  }),
  choice: (request: DeployRequest) => {
    const commitId = request?.git_commit_id?.toLowerCase() ?? null;
    const releaseId = request?.release_id ?? null;
    if (commitId !== null && releaseId !== null) {
      throw invalid('release_id', 'cannot be sent together with git_commit_id: a release has its commit; send one of them');
    }
    return { commitId, releaseId };
  },
});

/** Returns the spec of a new application. Adds errors to `rules.problems`. */
export function newApplication(request: CreateRequest, rules: SpecRules): ApplicationSpec {
  const repository = { problems: rules.problems, allowLocal: rules.allowLocalRepositories };
  const former: ApplicationSpec = {
    ...blankProcess(kinds.APPLICATION.icon, request, rules),
    build_mode: 'DOCKER',
    // A request without a Dockerfile path is refused below.
    dockerfile_path: request.dockerfile_path ?? '',
    docker_target_build_stage: null,
    git_repository: toGitRepository(request.git_repository, null, repository),
  };
  return editedApplication({ ...request, build_mode: 'DOCKER', git_repository: undefined }, former, rules);
}

/** Returns the spec after an edit; see `mergedProcess`. */
export function editedApplication(request: EditRequest, former: ApplicationSpec, rules: SpecRules): ApplicationSpec {
  const { problems } = rules;
  const { build_mode: mode, dockerfile_path: path } = request;
  // An edit without `build_mode` and `dockerfile_path` keeps both.
  if (path === undefined ? mode === 'DOCKER' : !path) {
    problems.add(
      'dockerfile_path',
      'is required where build_mode is DOCKER, the default: name the Dockerfile, such as Dockerfile',
    );
  }
  const repository = { problems, allowLocal: rules.allowLocalRepositories };
  const spec: ApplicationSpec = {
    ...mergedProcess(request, former, rules),
    build_mode: request.build_mode ?? former.build_mode,
    dockerfile_path: path ?? former.dockerfile_path,
    docker_target_build_stage:
      request.docker_target_build_stage === undefined
        ? former.docker_target_build_stage
        : request.docker_target_build_stage || null,
    git_repository: request.git_repository
      ? toGitRepository(request.git_repository, former.git_repository, repository)
      : former.git_repository,
  };
  checkBuild(spec, problems);
  return spec;
}

/** Adds errors for settings of a build from a repository. */
export function checkBuild(
  spec: Pick<ApplicationSpec, 'dockerfile_path' | 'docker_target_build_stage'>,
  problems: Problems,
): void {
  const { dockerfile_path: path, docker_target_build_stage: stage } = spec;
  if (path.startsWith('/') || path.startsWith('-') || leavesRoot(path) || hasControlCharacter(path)) {
    problems.add('dockerfile_path', 'must be a path relative to git_repository.root_path, such as Dockerfile, without ..');
  }
  if (stage !== null && !/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(stage)) {
    problems.add('docker_target_build_stage', 'must be the name of a stage, as in FROM … AS <name>: letters, digits, _ . -');
  }
}

/** Returns the contract's record. `groups`: the groups that the spec references. */
export function toApplicationRecord(row: ServiceRow<ApplicationSpec>, caps: Caps | null, groups?: Groups): ApplicationRecord {
  const { spec } = row;
  return {
    ...recordHead(row, kinds.APPLICATION.type),
    build_mode: spec.build_mode,
    dockerfile_path: spec.dockerfile_path,
    docker_target_build_stage: spec.docker_target_build_stage,
    ...(caps === null ? {} : { maximum_cpu: caps.cpuMillicores, maximum_memory: caps.memoryMiB }),
    maximun_gpu: maximumGpu,
    ...processRecord(spec, groups),
    ...toAutoscalingRecord(spec.autoscaling, row),
    git_repository: toGitRecord(spec.git_repository, row.git_token_name, row.deployed_commit),
  };
}
