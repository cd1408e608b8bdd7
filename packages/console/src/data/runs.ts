import type { CallInput } from '@davit/client';
import { api } from '../api.ts';
import type { Service } from '../words.ts';

export type JobEvent = NonNullable<NonNullable<CallInput<'deployJob'>['query']>['forceEvent']>;
export type Job = Extract<Service, { readonly service_type: 'JOB' }>;

/** Returns the events that a job defines: what can be run now. */
export function eventsOf({ schedule }: Job): JobEvent[] {
  if ('cronjob' in schedule) return ['CRON'];
  return [
    ...(schedule.on_start === undefined ? [] : (['START'] as const)),
    ...(schedule.on_stop === undefined ? [] : (['STOP'] as const)),
    ...(schedule.on_delete === undefined ? [] : (['DELETE'] as const)),
  ];
}

/** Runs one event of a job once, with its current configuration. */
export async function runNow({ id }: Job, forceEvent: JobEvent): Promise<void> {
  await api().call('deployJob', { params: { jobId: id }, query: { forceEvent } });
}

/** Removes what ended runs left on the cluster; returns how much that was. */
export async function cleanRuns({ id }: Job): Promise<number> {
  return (await api().call('cleanFailedJob', { params: { jobId: id } })).clean_kubernetes_jobs.length;
}
