import type { operations, Response } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import { commandLine } from './command-line.ts';

export type HistoryDetails = Response<(typeof operations)['listJobDeploymentHistoryV2']>['results'][number]['details'];
type JobDetails = Extract<HistoryDetails, { job_type: unknown }>;
type Commit = JobDetails['commit'];

/**
 * Returns the details of a deployment in the history, as the public description defines them:
 * - Container and database: image and command.
 * - Job: image or commit, and schedule.
 * - Helm chart: the chart.
 * - All other types: the commit.
 */
export function toHistoryDetails(view: engine.HistoryServiceView): HistoryDetails {
  const commit = toCommit(view.commit, view.createdAt);
  switch (view.serviceType) {
    case 'CONTAINER':
    case 'DATABASE':
      return { ...imageOf(view.ran), ...toCommand(view.ran ?? { entrypoint: [], arguments: [] }) };
    case 'JOB':
      return { ...imageOf(view.ran), commit, ...scheduleOf(view.ran?.job), build_pod_name: '' };
    case 'HELM':
      return { commit, repository: chartOf(view.ran) };
    default:
      return { commit, build_pod_name: '' };
  }
}

// Built images have internal names; their commit is more useful to readers.
function imageOf(ran: engine.ReleaseCommand | null): Pick<JobDetails, 'image_name' | 'tag'> {
  return ran?.source.type === 'IMAGE' ? { image_name: ran.source.image, tag: ran.source.tag } : { image_name: '', tag: '' };
}

function chartOf(ran: engine.ReleaseCommand | null): { chart_name: string; chart_version: string } {
  const chart = ran?.source.type === 'HELM' ? ran.source.chart : null;
  const member = (name: string): string => {
    const value: unknown = chart === null ? undefined : Object.entries(chart).find(([key]) => key === name)?.[1];
    return typeof value === 'string' ? value : '';
  };
  return { chart_name: member('chart_name'), chart_version: member('chart_version') };
}

const members = { START: 'on_start', STOP: 'on_stop', DELETE: 'on_delete' } as const;

function scheduleOf(job: engine.JobRelease | undefined): Pick<JobDetails, 'schedule' | 'job_type'> {
  const cron = job?.events.CRON;
  if (cron !== undefined && job?.schedule) {
    const { expression, timezone } = job.schedule;
    return { job_type: 'CRON', schedule: { cron_job: { ...toCommand(cron), scheduled_at: expression, timezone } } };
  }
  const events = (['START', 'STOP', 'DELETE'] as const).flatMap((event) => {
    const command = job?.events[event];
    return command === undefined ? [] : [[members[event], toCommand(command)] as const];
  });
  return { job_type: 'LIFECYCLE', schedule: Object.fromEntries(events) };
}

function toCommand({ entrypoint, arguments: words }: engine.JobCommand): { arguments: string[]; entrypoint?: string } {
  return { arguments: [...words], ...(entrypoint.length > 0 && { entrypoint: commandLine(entrypoint) }) };
}

/** Returns a commit with every member, as clients require all of them. Before the checkout only the id is known. */
export function toCommit(commit: engine.ReleaseCommit | null, createdAt: string): Commit {
  if (commit === null) return null;
  return {
    created_at: commit.createdAt ?? createdAt,
    git_commit_id: commit.id,
    tag: commit.tag ?? '',
    message: commit.message ?? '',
    author_name: commit.authorName ?? '',
  };
}
