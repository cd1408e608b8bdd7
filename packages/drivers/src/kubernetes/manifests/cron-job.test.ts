import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sensitive } from '@davit/base';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { ContainerState, Pod } from 'kubernetes-types/core/v1.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ClusterSchedule } from '../../schedules.ts';
import { gather, toInstance } from '../instances/instances.ts';
import { label, withRunLabels } from '../names/labels.ts';
import { matchesSelector } from '../../shared/labels.ts';
import { toRun } from '../capabilities/schedules.ts';
import { faultsOf } from '../testing/schemas.ts';
import { cluster, sampleWorkload } from '../testing/workloads.ts';
import { asScheduleValues, foldersLostCode, toCronJob } from './cron-job.ts';
import { toController } from './instance.ts';
import { toValues } from './values.ts';

const schedule: ClusterSchedule = {
  workload: sampleWorkload({
    runsOnce: true,
    folders: ['/davit-output'],
    ports: [],
    readiness: null,
    registry: { host: 'registry.example.org', credentials: { username: 'u', password: new Sensitive('canary') } },
    metadata: { labels: { team: 'shop' }, annotations: { CronJob: { a: '1' }, Job: { b: '2' }, Pod: { c: '3' } } },
  }),
  expression: '0 3 * * *',
  timezone: 'Europe/Paris',
  maxSeconds: 600,
  maxRestarts: 2,
  holdSeconds: 120,
};
const made = (changes: Partial<ClusterSchedule> = {}, settings = cluster) =>
  toCronJob({ ...schedule, ...changes, isSuspended: false }, settings);

test('a schedule is a CronJob that the description of Kubernetes takes, and holds no value', () => {
  for (const podSecurity of ['baseline', 'restricted'] as const) {
    const object = made({}, { ...cluster, settings: { ...cluster.settings, podSecurity } });
    expect(faultsOf(object)).toEqual([]);
    expect(JSON.stringify(object)).not.toContain('canary');
  }
});

test('it says when, that runs do not overlap, what was missed is run, and how long and often one is tried', () => {
  const { spec } = made();
  expect(spec).toMatchObject({
    schedule: '0 3 * * *',
    timeZone: 'Europe/Paris',
    concurrencyPolicy: 'Forbid',
    suspend: false,
    successfulJobsHistoryLimit: 20,
    failedJobsHistoryLimit: 20,
    jobTemplate: { spec: { backoffLimit: 2, activeDeadlineSeconds: 630, template: { spec: { activeDeadlineSeconds: 600 } } } },
  });
  expect(spec).not.toHaveProperty('startingDeadlineSeconds');
});

test('its pod is that of an attempt that Davit starts, but for the helper, which ends with the process', () => {
  const job = toController(schedule.workload, 0, cluster);
  const attempt = job.spec?.template.spec;
  const pod = made().spec?.jobTemplate.spec?.template.spec;
  const { initContainers, activeDeadlineSeconds: _, terminationGracePeriodSeconds, containers, ...rest } = pod ?? {};
  const { containers: both = [], terminationGracePeriodSeconds: grace = 0, ...others } = attempt ?? {};
  expect(rest).toEqual(others);
  expect(containers).toEqual([both[0]]);
  const [helper] = initContainers ?? [];
  expect(helper).toEqual({ ...both[1], restartPolicy: 'Always', command: helper?.command });
  expect(helper?.command?.join(' ')).toContain(`'/davit-output'/*`);
  // The additional time serves to read the folders after the process has ended.
  expect(terminationGracePeriodSeconds).toBe(grace + 120);
});

test.each([
  ['as long as it is asked for', { holdSeconds: 1, maxSeconds: 60 }, [1, 3]],
  ['not until the time of the run is over', { holdSeconds: 30, maxSeconds: 17 }, [1, 3]],
  ['not at all where that is over', { holdSeconds: 30, maxSeconds: 10 }, [0, 1]],
])('outputs are held %s', (_, times, [least = 0, most = 0]) => {
  const folder = mkdtempSync(join(tmpdir(), 'davit-held-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'davit-output.json'), '{}');
  const script = made(times).spec?.jobTemplate.spec?.template.spec?.initContainers?.[0]?.command?.[2] ?? '';
  const began = performance.now();
  // The script sends itself SIGTERM, as the node does once the process has ended.
  const shell = script.replaceAll('/davit-output', folder).replace('trap hold TERM', (line) => `${line}\nkill -TERM $$`);
  const { status } = spawnSync('/bin/sh', ['-c', shell], { timeout: 20_000 });
  const seconds = (performance.now() - began) / 1_000;
  expect(status).toBe(foldersLostCode);
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(seconds).toBeLessThan(most);
});

test('another expression or time zone makes another CronJob, other values do not', () => {
  const name = made().metadata?.name;
  expect(made({ expression: '0 4 * * *' }).metadata?.name).not.toBe(name);
  expect(made({ timezone: 'Etc/UTC' }).metadata?.name).not.toBe(name);
  const other = { ...schedule.workload, release: 'r2', rollout: 'other', image: 'other' };
  expect(made({ workload: other }).metadata?.name).toBe(name);
  expect(name).toMatch(/^[a-z][-a-z0-9]{0,51}$/);
  const long = made({ workload: { ...schedule.workload, name: 'n'.repeat(200) } });
  expect(long.metadata?.name?.length).toBeLessThanOrEqual(52);
});

test('groups of annotations and labels are on what they name', () => {
  const { metadata, spec } = made();
  expect([metadata?.annotations?.['a'], metadata?.labels?.['team']]).toEqual(['1', 'shop']);
  expect(spec?.jobTemplate.metadata).toMatchObject({ labels: { team: 'shop' }, annotations: { b: '2' } });
  expect(spec?.jobTemplate.spec?.template.metadata).toMatchObject({ labels: { team: 'shop' }, annotations: { c: '3' } });
});

test('its values are known as those of the schedule', () => {
  const values = toValues(schedule.workload);
  if (values === null) throw new Error('there are none');
  expect(asScheduleValues(values, schedule.workload).metadata?.labels).toMatchObject({
    [label.rollout]: schedule.workload.rollout,
    [label.schedule]: schedule.workload.rollout,
  });
});

describe('a run', () => {
  const uid = 'b1c2c2a4-0000-4000-8000-000000000001';
  const name = `${made().metadata?.name}-29384640`;
  const template = made().spec?.jobTemplate;
  const namespace = made().metadata?.namespace ?? '';
  const job = (status: Job['status'] = {}): Job & { kind: 'Job' } => ({
    kind: 'Job',
    metadata: { ...template?.metadata, name, namespace, uid, creationTimestamp: '2025-11-13T08:00:01Z' },
    spec: template?.spec ?? { template: {} },
    status,
  });
  const pod = (state: ContainerState, more: Partial<Pod['status']> = {}, made = '2025-11-13T08:00:02Z'): Pod => ({
    metadata: {
      ...template?.spec?.template.metadata,
      namespace,
      name: `${name}-${made.slice(-3)}`,
      creationTimestamp: made,
      labels: {
        ...template?.spec?.template.metadata?.labels,
        'batch.kubernetes.io/job-name': name,
        'batch.kubernetes.io/controller-uid': uid,
      },
    },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state }],
      ...more,
    },
  });
  const instance = (own: Job, ...pods: readonly Pod[]) => {
    const [found, ...others] = gather([own], pods);
    if (found === undefined) throw new Error('there is none');
    expect(others).toEqual([]);
    return toInstance(found);
  };
  const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode, finishedAt: '2025-11-13T08:00:09Z' } });
  const condition = (type: string) => [{ type, status: 'True', lastTransitionTime: '2025-11-13T08:10:00Z' }];

  test('is named by its Job, and has its uid as rollout, so that selectors find it', () => {
    const one = instance(job(), pod({ running: { startedAt: '2025-11-13T08:00:03Z' } }));
    expect(one).toMatchObject({ id: `${namespace}/${name}`, name, rollout: uid, index: 0, state: 'RUNNING', scheduled: true });
    expect(one).toMatchObject({ service: schedule.workload.owner.service, release: schedule.workload.release });
    const labels = withRunLabels(job()).metadata?.labels ?? {};
    expect(matchesSelector(labels, { rollout: uid })).toBe(true);
    expect(matchesSelector(labels, { rollout: schedule.workload.rollout })).toBe(false);
  });

  test('says when it was due and whether it is over', () => {
    expect(toRun(job({ startTime: '2025-11-13T08:00:01Z' }))).toEqual({
      id: uid,
      environment: schedule.workload.owner.environment,
      service: schedule.workload.owner.service,
      release: schedule.workload.release,
      dueAt: new Date(29_384_640 * 60_000).toISOString(),
      startedAt: '2025-11-13T08:00:01Z',
      isOver: false,
    });
    expect(toRun(job({ conditions: condition('Failed') })).isOver).toBe(true);
  });

  test('has succeeded as soon as its process has, while its outputs are held', () => {
    expect(instance(job(), pod(ended(0)))).toMatchObject({ state: 'EXITED', exit: { code: 0 } });
  });

  test('has not ended while the cluster is to try it again', () => {
    expect(instance(job(), pod(ended(1)))).toMatchObject({ state: 'CREATED', exit: null });
    expect(instance(job({ failed: 1 }), pod(ended(1), { phase: 'Failed' }))).toMatchObject({ state: 'CREATED' });
    const second = pod({ running: { startedAt: '2025-11-13T08:00:20Z' } }, {}, '2025-11-13T08:00:19Z');
    expect(instance(job({ failed: 1 }), pod(ended(1), { phase: 'Failed' }), second)).toMatchObject({ state: 'RUNNING' });
  });

  test('has failed when its last attempt has', () => {
    expect(instance(job({ failed: 2 }), pod(ended(4)))).toMatchObject({ state: 'EXITED', exit: { code: 4 } });
    const over = job({ failed: 3, conditions: condition('Failed') });
    expect(instance(over, pod(ended(4), { phase: 'Failed' }))).toMatchObject({ state: 'EXITED', exit: { code: 4 } });
    // The Job removed its pods because it took too long.
    expect(instance(over)).toMatchObject({ state: 'EXITED', exit: { code: 255, at: '2025-11-13T08:10:00Z' } });
  });

  test('has not succeeded where its time was over, however its process took that', () => {
    const over = job({ failed: 1, conditions: condition('Failed') });
    const late = { phase: 'Failed', reason: 'DeadlineExceeded' };
    expect(instance(over, pod(ended(0), late))).toMatchObject({ state: 'EXITED', exit: { code: 143 } });
  });

  test('has succeeded where its process ended in time and only its outputs were held for too long', () => {
    const over = job({ failed: 1, conditions: condition('Failed') });
    const held = pod(ended(0), { phase: 'Failed', reason: 'DeadlineExceeded', startTime: '2025-11-13T08:00:02Z' });
    const inTime = { ...held, spec: { containers: [], activeDeadlineSeconds: 60 } };
    expect(instance(over, inTime)).toMatchObject({ state: 'EXITED', exit: { code: 0 } });
    const late = { ...held, spec: { containers: [], activeDeadlineSeconds: 7 } };
    expect(instance(over, late)).toMatchObject({ state: 'EXITED', exit: { code: 143 } });
  });

  test('says when nobody read its outputs in time', () => {
    const helper = { name: 'helper', image: '', imageID: '', ready: false, restartCount: 0, state: ended(foldersLostCode) };
    const over = job({ conditions: condition('Complete') });
    expect(instance(over, pod(ended(0), { initContainerStatuses: [helper] }))).toMatchObject({ foldersLost: true });
    expect(instance(over, pod(ended(0)))).not.toHaveProperty('foldersLost');
  });
});
