import type { Cause } from '@davit/drivers';

/** What is recorded of the end of a run. */
export interface RecordedEnd {
  readonly status: string;
  /** Of its failure. */
  readonly code: string | null;
}

/** Failures that are about the run: it is over, its time is, or it cannot begin. */
const ofRun: readonly Cause[] = [
  'JOB_FAILED',
  'JOB_TIMEOUT',
  'OUT_OF_MEMORY',
  'PROCESS_EXITED',
  'IMAGE_MISSING',
  'IMAGE_NOT_FOUND',
  'REGISTRY_ACCESS_DENIED',
  'REGISTRY_UNREACHABLE',
  'START_FAILED',
  'RUN_AS_ROOT',
  'UNSCHEDULABLE',
  'QUOTA_EXCEEDED',
  'ADMISSION_REFUSED',
  'VOLUME_UNAVAILABLE',
];
const known: ReadonlySet<string | null> = new Set(ofRun);

/**
 * Whether what is left of a run that a cluster started may be removed without looking at it. Not where Davit lost sight of it (its cluster did not
 * answer, or Davit itself failed): it goes on, and ends by its own time at the latest. Pure.
 */
export function isEndKnown({ status, code }: RecordedEnd): boolean {
  return status === 'SUCCEEDED' || status === 'CANCELED' || known.has(code);
}
