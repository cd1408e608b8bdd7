import { DriverError } from '../errors.ts';
import { shownUrl, type Repository } from './repository-url.ts';
import type { GitResult } from './git-command.ts';
import type { Exceeded } from './git-watch.ts';

const patterns = {
  disk: /No space left on device|Disk quota exceeded/i,
  transport: /transport '([^']*)' not allowed/i,
  denied:
    /could not read (Username|Password)|Authentication failed|The requested URL returned error: (401|403|404)|repository '[^']*' not found|Repository not found|Access denied|not authorized|terminal prompts disabled/i,
  noRepository: /not a git repository|does not appear to be a git repository|not valid: is this a git repository|not a valid/i,
  damaged: /possible repository corruption on the remote side|remote: fatal: (unable to read|bad object|loose object)/i,
  redirect: /unable to update url base from redirection/i,
};

/**
 * Returns the failure of a git command as the cause of a failed deployment. Matches messages of git 2.30 to 2.50 with
 * `LC_ALL=C`.
 */
export function gitFailure(result: GitResult, repository: Repository): DriverError {
  const original = lastLines(result.stderr);
  const evidence = { lines: original, original: original.at(-1) ?? '' };
  const where = shownUrl(repository);
  const ended = endedByDavit(result, repository);
  if (ended !== null) return ended;
  if (/dumb http transport/i.test(result.stderr)) {
    return new DriverError({
      cause: 'GIT_UNREACHABLE',
      message: `The host of the git repository ${where} only serves the "dumb" HTTP protocol of git, which Davit does not support.`,
      hint: 'Serve the repository with `git http-backend` or from a git host; both speak the smart HTTP protocol of git.',
      evidence,
    });
  }
  if (result.timedOut) {
    return new DriverError({
      cause: 'GIT_UNREACHABLE',
      message: `The git repository ${where} stopped answering.`,
      evidence,
      retryable: true,
    });
  }
  if (patterns.disk.test(result.stderr)) {
    return diskFull(repository, evidence);
  }
  const transport = patterns.transport.exec(result.stderr)?.[1];
  if (transport !== undefined) {
    return new DriverError({
      cause: 'GIT_ACCESS_DENIED',
      message: `The git repository ${where} has a submodule or redirect with the transport '${transport}', which is not allowed.`,
      hint: 'Use https URLs in .gitmodules, or URLs relative to the repository.',
      evidence,
    });
  }
  if (patterns.denied.test(result.stderr)) return denied(repository, evidence, submoduleIn(result));
  if (patterns.damaged.test(result.stderr)) {
    return new DriverError({
      cause: 'GIT_UNREACHABLE',
      message: `The git repository ${where} is damaged: its host cannot read some of its objects.`,
      hint: 'Run `git fsck` on the repository of the git host, or push the missing commits to it again.',
      evidence,
    });
  }
  if (patterns.redirect.test(result.stderr) || patterns.noRepository.test(result.stderr)) {
    return new DriverError({ cause: 'GIT_UNREACHABLE', message: `There is no git repository at ${where}.`, evidence });
  }
  return new DriverError({
    cause: 'GIT_UNREACHABLE',
    message: `${nameOf(repository, submoduleIn(result))} could not be reached: ${shortReason(original)}`,
    evidence,
    retryable: true,
  });
}

/** Returns the failure of a git command that contacts no host: the disk is full, or Davit's command is wrong. */
export function localGitFailure(result: GitResult, repository: Repository): DriverError {
  const ended = endedByDavit(result, repository);
  if (ended !== null) return ended;
  const original = lastLines(result.stderr);
  if (patterns.disk.test(result.stderr) || /unable to write/i.test(result.stderr)) {
    return diskFull(repository, { lines: original });
  }
  return new DriverError({
    cause: 'INTERNAL',
    message: `git failed on the checked-out repository ${shownUrl(repository)}: ${shortReason(original)}`,
    evidence: { lines: original },
  });
}

const limitWords: Readonly<Record<Exclude<Exceeded, 'diskBytes'>, string>> = {
  processes: 'exceeded its limit of processes',
  memoryBytes: 'exceeded its memory limit',
  milliseconds: 'exceeded its time limit',
};

/** Returns the failure if Davit itself stopped git; null if it did not. */
function endedByDavit({ exceeded, refusedHost }: GitResult, repository: Repository): DriverError | null {
  if (refusedHost !== null) return notAllowed(shownUrl(repository), refusedHost);
  if (exceeded === null) return null;
  if (exceeded === 'diskBytes') return tooLarge(repository, null);
  return new DriverError({
    cause: 'GIT_TOO_LARGE',
    message: `git ${limitWords[exceeded]} for the repository ${shownUrl(repository)} and was stopped.`,
    hint: 'Check that the repository is served by a git host and has no very large files or thousands of submodules.',
  });
}

/** The message is the same whatever is at the address, and whether anything is there. */
export function notAllowed(url: string, host: string): DriverError {
  return new DriverError({
    cause: 'GIT_UNREACHABLE',
    message: `The git repository ${url} leads to ${host}, which is not a public address and is not allowed.`,
    hint: 'Use a repository of a public host, or have the operator name this host in DAVIT_ALLOW_PRIVATE_REPOSITORIES.',
  });
}

/** `bytes`: the size that the checkout would have; null: larger than the limit. */
export function tooLarge(repository: Repository, bytes: number | null): DriverError {
  const { maximumBytes } = repository;
  const url = shownUrl(repository);
  const limit = `${(maximumBytes / 1024 ** 3).toFixed(1)} GB`;
  const size = bytes === null ? `more than ${limit}` : `${(bytes / 1024 ** 3).toFixed(1)} GB; the limit is ${limit}`;
  return new DriverError({ cause: 'GIT_TOO_LARGE', message: `The checked-out repository ${url} is too large: ${size}.` });
}

function diskFull(repository: Repository, evidence: DriverError['evidence']): DriverError {
  return new DriverError({
    cause: 'DISK_FULL',
    message: `There is no space left for the git repository ${shownUrl(repository)}.`,
    evidence,
  });
}

function denied(repository: Repository, evidence: DriverError['evidence'], submodule: string | null): DriverError {
  const who = repository.credentials ? 'with the given credentials' : 'without credentials';
  return new DriverError({
    cause: 'GIT_ACCESS_DENIED',
    message: `${nameOf(repository, submodule)} may not be read ${who}, or does not exist.`,
    evidence,
  });
}

/** Returns the address of the submodule that git could not fetch, also of a submodule of one; null: there is none. */
function submoduleIn({ stderr }: GitResult): string | null {
  const url = /^fatal: clone of '([^']*)' into submodule path/m.exec(stderr)?.[1];
  return url?.replace(/\/\/[^@/]*@/, '//') ?? null;
}

function nameOf(repository: Repository, submodule: string | null): string {
  const where = shownUrl(repository);
  return submodule === null ? `The git repository ${where}` : `The submodule ${submodule} of the git repository ${where}`;
}

/** Returns whether a host refused to send a commit by its id. The commit must then be looked for on its branch. */
export function isRefusedById(stderr: string): boolean {
  return /not our ref|unadvertised object|couldn't find remote ref|did not send all necessary objects|no such remote ref|upload-pack: not our|expected shallow|remote error: want/i.test(
    stderr,
  );
}

function lastLines(stderr: string): string[] {
  return stderr
    .split(/[\r\n]+/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '' && !/^(remote: )?[A-Z][a-z ]+: +\d+% \(/.test(line)) // Excludes progress lines.
    .slice(-20);
}

function shortReason(lines: readonly string[]): string {
  // git ends with what failed because of the failure of a submodule.
  const causes = lines.filter((text) => !/^fatal: (clone of '|Failed to recurse)/.test(text));
  const line = causes.findLast((text) => /^(fatal|error):/.test(text)) ?? lines.at(-1) ?? 'git exited without a message.';
  return line.replace(/^(fatal|error):\s*(unable to access '[^']*':\s*)?/, '');
}
