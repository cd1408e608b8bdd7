import type { Cause } from '@davit/drivers';

/** The recorded end of a run. */
export interface RecordedEnd {
  readonly status: string;
  /** Code of the failure; null if there is none. */
  readonly code: string | null;
}

/** Failures that prove the end of a run: it has ended, its time is over, or it cannot start. */
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
 * Returns whether the objects of a run that a cluster started may be removed without looking at the run. False if Davit
 * lost track of the run, because its cluster was unreachable or Davit itself failed: the run continues, and ends at its
 * own time limit at the latest. Pure.
 */
export function isEndKnown({ status, code }: RecordedEnd): boolean {
  return status === 'SUCCEEDED' || status === 'CANCELED' || known.has(code);
}
