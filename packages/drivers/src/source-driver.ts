import type { Sensitive } from '@davit/base';
import type { CallContext } from './driver.ts';

export interface GitCredentials {
  readonly username: string;
  readonly password: Sensitive;
  /** Names of the hosts that may receive the credentials; no other host gets them. */
  readonly hosts: readonly string[];
}

export interface GitSource {
  /** https or http URL. If the configuration allows it, also a path or file URL of this machine. */
  readonly url: string;
  /** Absent: the repository's default branch. */
  readonly branch?: string;
  /**
   * 40 hexadecimal digits, or an abbreviation of at least 7 that is unique on the branch. Absent: the newest commit of
   * the branch.
   */
  readonly commit?: string;
  readonly credentials?: GitCredentials;
  /**
   * Id of the organization that the source belongs to. Its checkouts of the same URL share objects. Absent: nothing is
   * kept for later checkouts, and nothing kept is used.
   */
  readonly organization?: string;
}

export interface Commit {
  readonly id: string;
  readonly message: string;
  readonly authorName: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** A tag that points at the commit, or ''. */
  readonly tag: string;
}

export interface SourceDriver {
  /**
   * Returns the commit that the source currently refers to. Fetches no content without `directory`. With it, the newest
   * commit of a branch is fetched on the way if little of it is missing, so that a `checkout` of it to this directory
   * does not contact the host again. Fails with GIT_UNREACHABLE, GIT_ACCESS_DENIED, GIT_REFERENCE_NOT_FOUND,
   * GIT_LOCAL_FORBIDDEN.
   */
  resolve(source: GitSource, context: CallContext, directory?: string): Promise<string>;

  /**
   * Writes the tree of `commit` to `directory`, which is created anew, from a shallow fetch. Asks the host for the
   * commit with the given credentials each time, whatever is kept, unless `resolve` has just fetched it to this
   * directory. Fails as `resolve` does.
   */
  checkout(source: GitSource & { readonly commit: string }, directory: string, context: CallContext): Promise<Commit>;

  /**
   * Returns the texts of single files of a commit, in the order requested. Does not fetch the other files if the host
   * supports that. A text is null if the path does not exist or is not a file; symbolic links are followed inside the
   * repository. Fails with BUILD_ROOT_MISSING, and as `resolve` does.
   */
  files(
    source: GitSource & { readonly commit: string },
    wanted: WantedFiles,
    context: CallContext,
  ): Promise<readonly (string | null)[]>;

  /**
   * Returns the paths of the files below a folder of a commit, and the texts of those that `choose` returns. Links are
   * no files here. Fetches the folders of the commit and the chosen files, nothing else, if the host supports that.
   * Fails with BUILD_ROOT_MISSING, and as `resolve` does.
   */
  list(source: GitSource & { readonly commit: string }, wanted: WantedList, context: CallContext): Promise<FileList>;

  /** Returns the branches with their newest commits. Fetches nothing. Fails as `resolve` does. */
  heads(source: GitSource, context: CallContext): Promise<Heads>;

  /**
   * Returns how a commit differs from an earlier one, without fetching files. Fails with GIT_REFERENCE_NOT_FOUND for
   * `head`, and as `resolve` does.
   */
  changes(source: GitSource, wanted: WantedChanges, context: CallContext): Promise<Changes>;

  /**
   * Returns the newest commits of the branch, newest first, at most `limit`. Fetches no files. Fails as `resolve` does.
   */
  history(source: GitSource, limit: number, context: CallContext): Promise<readonly HistoryCommit[]>;

  /** The objects that stay on the disk of this machine between checkouts. Absent: none do. */
  readonly kept?: KeptSources | undefined;
}

/** Objects that stay on the disk of this machine between checkouts. */
export interface KeptSources {
  /** Returns the bytes that all objects use on the disk. */
  bytes(): Promise<number>;
  /** Returns the organizations that objects are kept for. */
  organizations(): Promise<readonly string[]>;
  /** Removes the objects of an organization. */
  forget(organization: string): Promise<void>;
  /** Removes objects that exceed the limit, that nothing used for long, and that no kept commit needs. */
  tidy(signal: AbortSignal): Promise<void>;
}

/** The branches of a repository. */
export interface Heads {
  /** Null if the repository names no default branch, for example if it is empty. */
  readonly defaultBranch: string | null;
  /** Commit ids by branch. */
  readonly branches: ReadonlyMap<string, string>;
}

/** Two commits to compare, by their 40 hexadecimal digits. */
export interface WantedChanges {
  readonly base: string;
  readonly head: string;
  /** Compares `head` with the merge base of both commits, not with `base`. The result is the changes of a branch. */
  readonly sinceParting: boolean;
}

export interface Changes {
  /** True if `base` is in the history of `head`; false after a push that rewrote the history. */
  readonly isForward: boolean;
  /**
   * Changed, added and removed files; for a renamed file, both names. Null if `base` is no longer in the repository.
   */
  readonly files: readonly string[] | null;
}

/** A commit with the email address of its author. */
export interface HistoryCommit extends Commit {
  readonly authorEmail: string;
}

/** The files to read from a repository. */
export interface WantedFiles {
  /** Folder of the repository that the paths are relative to; `/` is its root. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}

export interface WantedList {
  /** Folder of the repository to list; `/` is its root. */
  readonly rootPath: string;
  /** Maximum number of paths. Those of git's order that come first are returned. */
  readonly maximumFiles: number;
  /** Returns the paths of the files to read, of the paths found. */
  readonly choose: (paths: readonly string[]) => readonly string[];
}

/** Paths are relative to the folder. */
export interface FileList {
  readonly paths: readonly string[];
  /** False if there are more files than `maximumFiles`. */
  readonly isComplete: boolean;
  readonly texts: ReadonlyMap<string, string>;
}
