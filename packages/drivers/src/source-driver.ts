import type { Sensitive } from '@davit/base';
import type { CallContext } from './driver.ts';

export interface GitCredentials {
  readonly username: string;
  readonly password: Sensitive;
  /** Names of the hosts that they are for: they go to no other. */
  readonly hosts: readonly string[];
}

export interface GitSource {
  /** https or http URL, or where the configuration allows it a path or file URL of this machine. */
  readonly url: string;
  /** Absent: the repository's default branch. */
  readonly branch?: string;
  /** 40 hexadecimal digits (or a unique abbreviation of at least 7 that is found on the branch). Absent: the newest of the branch. */
  readonly commit?: string;
  readonly credentials?: GitCredentials;
}

export interface Commit {
  readonly id: string;
  readonly message: string;
  readonly authorName: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** A tag that points at it, or ''. */
  readonly tag: string;
}

export interface SourceDriver {
  /** The commit that the source means now, without fetching content. Fails with GIT_UNREACHABLE, GIT_ACCESS_DENIED, GIT_REFERENCE_NOT_FOUND, GIT_LOCAL_FORBIDDEN. */
  resolve(source: GitSource, context: CallContext): Promise<string>;

  /** Puts the tree of `commit` into `directory` (made anew), shallow. Same failures as `resolve`. */
  checkout(source: GitSource & { readonly commit: string }, directory: string, context: CallContext): Promise<Commit>;

  /**
   * The texts of single files of a commit, in their order, without fetching the others where the host can do so. Null for what is
   * not there or is no file; symbolic links are followed inside of the repository. Fails with BUILD_ROOT_MISSING, and as `resolve`.
   */
  files(
    source: GitSource & { readonly commit: string },
    wanted: WantedFiles,
    context: CallContext,
  ): Promise<readonly (string | null)[]>;

  /** Branches with their newest commits. Fetches nothing. Same failures as `resolve`. */
  heads(source: GitSource, context: CallContext): Promise<Heads>;

  /** How a commit differs from an earlier one, without files. Fails with GIT_REFERENCE_NOT_FOUND for `head`, and as `resolve`. */
  changes(source: GitSource, wanted: WantedChanges, context: CallContext): Promise<Changes>;

  /** The newest commits of the branch, newest first, at most `limit`. Fetches no files. Same failures as `resolve`. */
  history(source: GitSource, limit: number, context: CallContext): Promise<readonly HistoryCommit[]>;
}

/** Of a repository. */
export interface Heads {
  /** null: the repository names none, as an empty one. */
  readonly defaultBranch: string | null;
  /** Ids of commits by branch. */
  readonly branches: ReadonlyMap<string, string>;
}

/** Two commits, by 40 hexadecimal digits each. */
export interface WantedChanges {
  readonly base: string;
  readonly head: string;
  /** Compare with where the two parted instead of with `base`: what a branch brings. */
  readonly sinceParting: boolean;
}

export interface Changes {
  /** Whether `base` is in the history of `head`: false after a push that rewrote it. */
  readonly isForward: boolean;
  /** Changed, added and removed files; both names of one that was renamed. null: `base` is not in the repository any more. */
  readonly files: readonly string[] | null;
}

/** A commit with who wrote it. */
export interface HistoryCommit extends Commit {
  readonly authorEmail: string;
}

/** Which files of a repository are asked for. */
export interface WantedFiles {
  /** Folder of the repository that the paths start from; `/` is all. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}
