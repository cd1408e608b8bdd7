import { inParallel } from '@davit/base';
import type { CronJob, Job } from 'kubernetes-types/batch/v1.js';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { ArmedSchedule, ClusterSchedule, ClusterSchedules, ScheduledRun } from '../../schedules.ts';

import { ApiRefusal, call, type KubernetesObject } from '../client/api.ts';
import { toKubernetesCron, toKubernetesZone } from './cron-expression.ts';
import { list } from '../client/follow.ts';
import { endOfJob } from '../instances/instances.ts';
import { label, labelSelector } from '../names/labels.ts';
import { asScheduleValues, toCronJob } from '../manifests/cron-job.ts';
import { toManifests } from '../manifests/index.ts';
import { apply, pathOf, type Scope } from '../client/objects.ts';
import { mayDo } from '../cluster/permissions.ts';
import { awaitRunStarted } from '../lifecycle/progress.ts';
import { translated } from '../client/refusals.ts';
import { findSchedules, removeSchedules } from './schedule-objects.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { ensureNamespace } from '../client/namespace.ts';

const atOnce = 4;

/** The optional capability "schedules": CronJobs. */
export function clusterSchedules(scope: ClusterScope): ClusterSchedules {
  return {
    unable: (schedule, signal) => unable(scope, schedule, signal),
    apply: (schedule, options, context) =>
      reported('The schedule could not be created on the cluster', () => applySchedule(scope, schedule, options, context)),
    suspend: (owner, signal) => reported('The schedule could not be suspended', () => setSuspended(scope, owner, true, signal)),
    resume: (owner, signal) => reported('The schedule could not be resumed', () => setSuspended(scope, owner, false, signal)),
    remove: (owner, signal) =>
      reported('The schedule could not be removed', () => removeSchedules(scope, owner, { except: null }, signal)),
    list: (signal) =>
      reported('The schedules could not be listed', async () => (await findSchedules(scope, {}, signal)).map(toArmed)),
    runs: (selector, signal) => reported('The runs of schedules could not be listed', () => findRuns(scope, selector, signal)),
    awaitStarted: (workload, context) => awaitRunStarted(scope, workload, context),
  };
}

async function reported<Result>(doing: string, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (error) {
    throw translated(error, doing);
  }
}

/** See `ClusterSchedules.unable`. */
async function unable(
  { api, traits }: ClusterScope,
  { expression }: Pick<ClusterSchedule, 'expression'>,
  signal: AbortSignal,
): Promise<string | null> {
  if (!traits.hasSidecars) return 'support sidecars: it is older than Kubernetes 1.29';
  const translation = toKubernetesCron(expression);
  if ('unknown' in translation) return `support ${translation.unknown} in schedules`;
  const may = await reported('The permissions of Davit on the cluster could not be read', () =>
    mayDo(api, { group: 'batch', resource: 'cronjobs', verb: 'create' }, signal),
  );
  return may ? null : 'let Davit create CronJobs: its role lacks cronjobs.batch';
}

/** Creates the CronJob suspended, so that no run starts before its values exist. */
async function applySchedule(
  scope: ClusterScope,
  schedule: ClusterSchedule,
  { isSuspended }: { readonly isSuspended: boolean },
  { signal }: CallContext,
): Promise<void> {
  const { workload } = schedule;
  const translation = toKubernetesCron(schedule.expression);
  if ('unknown' in translation) throw refused(`it does not support ${translation.unknown}`);
  const timezone = toKubernetesZone(schedule.timezone);
  const cronJob = toCronJob({ ...schedule, expression: translation.expression, timezone, isSuspended: true }, scope);
  const { namespace, networkPolicy, secrets } = toManifests(workload, scope, workload.rollout);
  await ensureNamespace(scope, namespace, signal);
  await apply(scope, networkPolicy, signal);
  await applyCronJob(scope, cronJob, signal);
  await removeSchedules(scope, workload.owner, { except: cronJob.metadata?.name ?? '' }, signal);
  await inParallel(secrets, atOnce, (secret) => apply(scope, asScheduleValues(secret, workload), signal));
  const { environment, service } = workload.owner;
  if (!isSuspended) await setSuspended(scope, { environment, service, rollout: workload.rollout }, false, signal);
}

async function applyCronJob(scope: Scope, cronJob: CronJob, signal: AbortSignal): Promise<void> {
  try {
    await apply(scope, cronJob, signal);
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 422 && /spec\.(?:schedule|timeZone)/.test(error.words))
      throw refused(error.words, error);
    throw error;
  }
}

function refused(words: string, error?: unknown): DriverError {
  const message = `The cluster refused the schedule: ${words}`;
  return new DriverError({ cause: 'SCHEDULE_REFUSED', message, evidence: { original: words }, error });
}

/** Suspends or resumes the CronJobs of a service, or only those of one `rollout`. */
async function setSuspended(
  scope: Scope,
  { rollout, ...owner }: { readonly environment: string; readonly service: string; readonly rollout?: string },
  suspend: boolean,
  signal: AbortSignal,
): Promise<void> {
  const found = await findSchedules(scope, owner, signal);
  const meant = found.filter(({ metadata }) => rollout === undefined || metadata?.labels?.[label.rollout] === rollout);
  await inParallel(meant, atOnce, ({ metadata }) =>
    call(scope.api, {
      method: 'PATCH',
      path: pathOf('CronJob', { namespace: metadata?.namespace, name: metadata?.name }),
      query: { fieldManager: 'davit' },
      // With a rollout, only the version that was read is changed: another deployment may have set other values since.
      body: { metadata: { resourceVersion: rollout === undefined ? undefined : metadata?.resourceVersion }, spec: { suspend } },
      contentType: 'application/merge-patch+json',
      signal,
      accept: [404],
    }),
  );
}

function toArmed(object: KubernetesObject): ArmedSchedule {
  const { spec, metadata } = object as CronJob; // oxlint-disable-line typescript/no-unsafe-type-assertion -- from a list of them
  const labels = metadata?.labels ?? {};
  return {
    environment: labels[label.environment] ?? '',
    service: labels[label.service] ?? '',
    rollout: labels[label.rollout] ?? '',
    isSuspended: spec?.suspend === true,
  };
}

async function findRuns(
  { api, installation }: Scope,
  { service }: { readonly service?: string },
  signal: AbortSignal,
): Promise<ScheduledRun[]> {
  const query = { labelSelector: `${labelSelector(installation, 'instance', { service })},${label.schedule}` };
  const { items } = await list<Job>(api, { path: pathOf('Job'), query }, signal);
  return items
    .filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
    .map(toRun)
    .toSorted((a, b) => a.dueAt.localeCompare(b.dueAt));
}

/** Converts a Job to a run. Pure. */
export function toRun(job: Job): ScheduledRun {
  const { metadata, status } = job;
  const labels = metadata?.labels ?? {};
  const made = metadata?.creationTimestamp ?? new Date(0).toISOString();
  return {
    id: metadata?.uid ?? '',
    environment: labels[label.environment] ?? '',
    service: labels[label.service] ?? '',
    release: labels[label.release] ?? '',
    dueAt: dueAt(metadata?.name ?? '') ?? made,
    startedAt: status?.startTime ?? made,
    isOver: endOfJob(job) !== null,
  };
}

/** Returns when a run was due. Kubernetes names the Jobs of a CronJob after that time, in minutes since 1970. */
function dueAt(name: string): string | null {
  const minutes = /-(\d{8,9})$/.exec(name)?.[1];
  return minutes === undefined ? null : new Date(Number(minutes) * 60_000).toISOString();
}
