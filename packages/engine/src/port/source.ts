import type { Changes, Heads, HistoryCommit, WantedChanges } from '@davit/drivers';
import type { FailureRecord } from '../model.ts';

export type { Changes, Heads, HistoryCommit };

/** A git repository, reached as a deployment would. */
export interface RepositoryQuestion {
  readonly driver: string;
  readonly url: string;
  /** null: the repository's default branch. */
  readonly branch: string | null;
  readonly gitTokenId: string | null;
}

/** Files of a git repository at the newest commit of a branch. */
export interface SourceQuestion extends RepositoryQuestion {
  /** Folder that the paths start from. */
  readonly rootPath: string;
  readonly paths: readonly string[];
}

type OrFailure<Answer> = Promise<Answer | { readonly failure: FailureRecord }>;

/** Looks at branches and commits of git repositories. Changes nothing; gives an answer, or why there is none, within a minute. */
export interface SourceReader {
  /** Branches with their newest commits. */
  heads(question: RepositoryQuestion): OrFailure<Heads>;
  /** How two commits differ; see the driver. */
  changes(question: RepositoryQuestion & WantedChanges): OrFailure<Changes>;
  /** The newest commits of the branch, newest first. */
  history(question: RepositoryQuestion & { readonly limit: number }): OrFailure<{ readonly commits: readonly HistoryCommit[] }>;
}

/** Their texts in order, null for what is not there; or why the repository could not be read. */
export type SourceAnswer =
  | { readonly commitId: string; readonly files: readonly (string | null)[] }
  | { readonly failure: FailureRecord };
