import { AppError, hasControlCharacter } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import type { FailureRecord, SourceQuestion } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { toGitRepository } from '../service/index.ts';
import { invalidReference, leavesRoot, Problems } from '../shared/problems.ts';
import { filesToRead, findings } from './findings.ts';
import * as store from './store.ts';

type DockerfileRequest = Body<(typeof operations)['checkDockerfile']>;
type DockerfileAnswer = Response<(typeof operations)['checkDockerfile']>;
type ChartRequest = Body<(typeof operations)['checkHelmRepository']>;
type RepositoryRequest = Body<(typeof operations)['checkGitRepository']>;
type RepositoryAnswer = Response<(typeof operations)['checkGitRepository']>;
type FilesRequest = Body<(typeof operations)['checkGitFile']>;

const mostFiles = 20_000;
const mostBranches = 200;

/**
 * The files to read from a repository. `path`: path in the repository; `at`: path of the request's member that names
 * the file.
 */
interface FilesToRead {
  readonly repository: DockerfileRequest['git_repository'];
  readonly files: readonly { readonly path: string; readonly at: string }[];
  /** Path of the repository in the request. Default: `git_repository`. */
  readonly at?: string;
}

/**
 * Fails with SOURCE_NOT_USABLE if the repository cannot be read, or if the file is missing or not a Dockerfile that can
 * be built.
 */
export async function checkDockerfile(
  deps: Needs<'database' | 'engine' | 'readDockerfile', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { git_repository, dockerfile_path }: DockerfileRequest,
): Promise<DockerfileAnswer> {
  const files = [{ path: dockerfile_path, at: 'dockerfile_path' }];
  const [content] = await readFiles(deps, caller, environmentId, { repository: git_repository, files });
  if (typeof content !== 'string') {
    throw notUsable('dockerfile_path', 'DOCKERFILE_MISSING', `There is no file ${dockerfile_path} in the repository.`);
  }
  const { argumentNames, images, ports, fault } = deps.readDockerfile(content);
  if (fault !== null) throw notUsable('dockerfile_path', 'DOCKERFILE_INVALID', `Line ${fault.line}: ${fault.message}.`);
  const tcpPorts = ports.filter(({ protocol }) => protocol === 'TCP').map(({ port }) => port);
  return { dockerfile_path, arg: [...argumentNames], repositories: [...images], ports: tcpPorts };
}

/** Fails with SOURCE_NOT_USABLE if the repository cannot be read or one of the files is missing. */
export async function checkFiles(
  deps: Needs<'database' | 'engine', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { git_repository, files }: FilesRequest,
): Promise<Record<string, never>> {
  const wanted = files.map((path, index) => ({ path, at: `files.${index}` }));
  const contents = await readFiles(deps, caller, environmentId, { repository: git_repository, files: wanted });
  const missing = wanted.filter((_file, index) => typeof contents[index] !== 'string');
  if (missing.length > 0) {
    const errors = missing.map(({ path, at }) => ({ path: at, message: `there is no file ${path} in the repository` }));
    const message = errors.map((error) => `${error.path}: ${error.message}`).join('; ');
    throw new AppError({ code: 'SOURCE_NOT_USABLE', message, errors });
  }
  return {};
}

/** Fails with SOURCE_NOT_USABLE if the repository cannot be read or has no chart at the root_path. */
export async function checkChart(
  deps: Needs<'database' | 'engine', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { git_repository: repository }: ChartRequest,
): Promise<Record<string, never>> {
  const at = 'git_repository.root_path';
  const [content] = await readFiles(deps, caller, environmentId, { repository, files: [{ path: 'Chart.yaml', at }] });
  if (typeof content === 'string') return {};
  const message = 'there is no Chart.yaml there, so it is not a Helm chart';
  throw new AppError({ code: 'SOURCE_NOT_USABLE', message: `${at}: ${message}`, errors: [{ path: at, message }] });
}

/** Returns what a repository can be deployed as. Fails with SOURCE_NOT_USABLE if it cannot be read. */
export async function checkRepository(
  deps: Needs<'database' | 'engine' | 'readDockerfile', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { git_repository: repository }: RepositoryRequest,
): Promise<RepositoryAnswer> {
  const question = await openRepository(deps, caller, environmentId, { repository, files: [] });
  const answer = await deps.engine.source.list({ ...question, maximumFiles: mostFiles, choose: filesToRead });
  if ('failure' in answer) throw toSourceError(answer.failure);
  const { commitId, heads, paths, texts, isComplete } = answer;
  return {
    commit_id: commitId,
    default_branch: heads.defaultBranch,
    branches: [...heads.branches.keys()].toSorted().slice(0, mostBranches),
    ...findings(paths, texts, deps.readDockerfile),
    complete: isComplete,
  };
}

/**
 * Returns the contents of files of a repository; null for missing files. Fails with SOURCE_NOT_USABLE,
 * VALIDATION_FAILED, INVALID_REFERENCE or NOT_FOUND.
 */
export async function readFiles(
  deps: Needs<'database' | 'engine', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { repository, files, at = 'git_repository' }: FilesToRead,
): Promise<readonly (string | null)[]> {
  const question = await openRepository(deps, caller, environmentId, { repository, files, at });
  const answer = await deps.engine.readSource({ ...question, paths: files.map(({ path }) => path) });
  if ('failure' in answer) throw toSourceError(answer.failure, at);
  return answer.files;
}

/** Returns a repository as the engine reads it. Fails with VALIDATION_FAILED, INVALID_REFERENCE or NOT_FOUND. */
async function openRepository(
  deps: Needs<'database', 'allowLocalRepositories'>,
  caller: Caller,
  environmentId: string,
  { repository, files, at = 'git_repository' }: FilesToRead,
): Promise<Omit<SourceQuestion, 'paths'>> {
  const environment = await openEnvironment(deps.database, caller, environmentId, 'read');
  const problems = new Problems();
  const git = toGitRepository(repository, null, { problems, allowLocal: deps.config.allowLocalRepositories, at });
  for (const { path, at: location } of files) {
    if (leavesRoot(path) || hasControlCharacter(path)) {
      problems.add(location, 'must be a file inside git_repository.root_path, without .. and control characters');
    }
  }
  problems.throwIfAny();
  // The token of one organization must not be used for another.
  if (
    git.git_token_id !== null &&
    (await deps.database.maybe(store.findGitToken, [git.git_token_id, environment.organizationId])) === undefined
  ) {
    throw invalidReference(`${at}.git_token_id`, 'is not the id of a git token of this organization; create one first');
  }
  return {
    driver: environment.driver,
    url: git.url,
    branch: git.branch,
    gitTokenId: git.git_token_id,
    rootPath: git.root_path,
  };
}

/** The field of the repository that each error code concerns. */
const fields: Readonly<Record<string, string>> = {
  GIT_REFERENCE_NOT_FOUND: 'branch',
  BUILD_ROOT_MISSING: 'root_path',
};

/** Converts the failure to read a repository to the error of an operation: SOURCE_NOT_USABLE. */
export function toSourceError({ code, message, hint }: FailureRecord, at = 'git_repository'): Error {
  // Other failures are not caused by the repository: a full disk, or an internal error, which the log explains.
  const isReported = code.startsWith('GIT_') || code.startsWith('BUILD_') || code === 'ENGINE_UNREACHABLE';
  if (!isReported) return new Error(`a repository could not be read: ${message}`);
  return notUsable(`${at}.${fields[code] ?? 'url'}`, code, `${message} ${hint}`.trim());
}

export function notUsable(path: string, cause: string, message: string): AppError {
  return new AppError({ code: 'SOURCE_NOT_USABLE', message: `${cause}: ${message}`, errors: [{ path, message }] });
}
