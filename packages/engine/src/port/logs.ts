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
}
