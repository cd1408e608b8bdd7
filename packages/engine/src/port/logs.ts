import type { FailureRecord } from '../model.ts';

export interface DeploymentLogLine {
  /** Increasing number, unique within the installation. */
  readonly number: number;
  readonly at: string;
  readonly level: 'INFO' | 'WARNING' | 'ERROR';
  readonly step: string;
  readonly message: string;
  readonly service: { readonly id: string; readonly name: string; readonly type: string } | null;
  readonly stage: { readonly id: string | null; readonly name: string } | null;
  readonly failure: FailureRecord | null;
}

export type LogLines = { readonly numbers: readonly number[] } | { readonly after: number; readonly limit: number };

export interface ServiceLogLine {
  /** Increasing number, unique within the installation. */
  readonly number: number;
  readonly id: string;
  readonly at: string;
  readonly message: string;
  readonly instance: string;
  readonly releaseId: string | null;
  /** The level that the line names; null if it names none. */
  readonly level: LogLevel | null;
}

export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** Conditions that all hits meet, and the page. */
export interface LogSearch {
  /** Occurs in the message. */
  readonly text?: string | undefined;
  /** A regular expression that matches the message; then `text` is ignored. */
  readonly expression?: string | undefined;
  /** Whether A differs from a. Default: no. */
  readonly matchCase?: boolean | undefined;
  /** Milliseconds since 1970: lines from this time on, and before the other. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly instance?: string | undefined;
  readonly release?: string | undefined;
  /** The least severe level. Lines without a level are then no hits. */
  readonly level?: LogLevel | undefined;
  /** Number of lines before and after each hit. */
  readonly context?: number | undefined;
  /** The newest lines before this number, or the oldest after that one. Default: the newest. */
  readonly before?: number | undefined;
  readonly after?: number | undefined;
  /** Id of a line: that line with the lines around it. All other conditions are ignored. */
  readonly line?: string | undefined;
  /** Most lines of the page. */
  readonly limit: number;
}

export interface LevelledLine extends ServiceLogLine {
  readonly stream: string;
}

/** A hit with the lines around it. */
export interface SearchedLine extends LevelledLine {
  readonly before: readonly LevelledLine[];
  readonly after: readonly LevelledLine[];
}

export interface LogPage {
  /** Oldest first. */
  readonly lines: readonly SearchedLine[];
  /** `before` of the next older page; null if there are no older hits. */
  readonly older: number | null;
  /** `after` of the next newer page; null if nothing is known to be older than that. */
  readonly newer: number | null;
}
