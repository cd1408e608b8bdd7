import type { Changes, FileList, Heads, HistoryCommit, WantedChanges, WantedList } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';

export type { Changes, Heads, HistoryCommit };

/** A git repository, accessed as a deployment would access it. */
export interface RepositoryQuestion {
  readonly driver: string;
  readonly url: string;
  /** null: the repository's default branch. */
  readonly branch: string | null;
  readonly gitTokenId: string | null;
}

/** Files of a git repository at the newest commit of a branch. */
export interface SourceQuestion extends RepositoryQuestion {
  /** Folder that the paths are relative to. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}

type OrFailure<Answer> = Promise<Answer | { readonly failure: FailureRecord }>;

/**
 * Reads branches and commits of git repositories. Changes nothing. Returns a result, or the failure, within a minute.
 */
export interface SourceReader {
  /** Returns the branches with their newest commits. */
  heads(question: RepositoryQuestion): OrFailure<Heads>;
  /** Returns the files of the newest commit of the branch, and the branches; see the driver. */
  list(question: RepositoryQuestion & WantedList): OrFailure<FileList & { readonly commitId: string; readonly heads: Heads }>;
  /** Returns the differences between two commits; see the driver. */
  changes(question: RepositoryQuestion & WantedChanges): OrFailure<Changes>;
  /** Returns the newest commits of the branch, newest first. */
  history(question: RepositoryQuestion & { readonly limit: number }): OrFailure<{ readonly commits: readonly HistoryCommit[] }>;
}

/** The texts of the files in order, null for a missing file; or the failure to read the repository. */
export type SourceAnswer =
  | { readonly commitId: string; readonly files: readonly (string | null)[] }
  | { readonly failure: FailureRecord };
