import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as cleaning from './job-cleaning.ts';

export function mountJobCleaning(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  mounting
    .on(operations.cleanFailedJobs, ({ caller, params, body }) => cleaning.cleanJobs(deps, caller, params.environmentId, body))
    .on(operations.cleanFailedJob, ({ caller, params }) => cleaning.cleanJob(deps, caller, params.jobId));
}
