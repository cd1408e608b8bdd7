import { randomUUID } from 'node:crypto';
import { Sensitive } from '@davit/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterSchedule, ScheduledRun } from '../../schedules.ts';
import type { Instance, LogLine } from '../../workload.ts';
import { closeApi, openApi, type Api, type KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { readKubeconfig } from '../client/kubeconfig.ts';
import { pathOf } from '../client/objects.ts';
import type { KubernetesDriver } from '../index.ts';
import { labelSelector } from '../names/labels.ts';
import { openTestDriver, testCluster } from '../testing/cluster.ts';
import { scriptWorkload } from '../testing/workloads.ts';

/* Runs that a cluster starts by itself, each minute. */

const cluster = testCluster();
const installation = `schedules-${randomUUID()}`;
const environment = randomUUID();
const signal = new AbortController().signal;
const context = { signal, log: () => undefined };
const poll = { timeout: 150_000, interval: 500 };

let driver: KubernetesDriver;
let api: Api;

function schedule(script: string, changes: Partial<ClusterSchedule> = {}, image = cluster.image): ClusterSchedule {
  const workload = scriptWorkload({ installation, environment, image }, script, {
    environment: [{ name: 'KEY', value: new Sensitive('canary') }],
    folders: ['/davit-output'],
    runsOnce: true,
    cpuMillicores: 50,
    memoryMiB: 32,
  });
  const often = { expression: '*/1 * * * *', timezone: 'Etc/UTC', maxSeconds: 50, maxRestarts: 0, holdSeconds: 5 };
  return { workload, ...often, ...changes };
}

const apply = (one: ClusterSchedule, isSuspended = false) => driver.schedules.apply(one, { isSuspended }, context);
const serviceOf = (one: ClusterSchedule): string => one.workload.owner.service;
const runsOf = (one: ClusterSchedule) => driver.schedules.runs({ service: serviceOf(one) }, signal);
async function run(one: ClusterSchedule): Promise<ScheduledRun> {
  await expect.poll(() => runsOf(one), poll).not.toEqual([]);
  const [first] = await runsOf(one);
  if (first === undefined) throw new Error('the run is gone');
  return first;
}
const instanceOf = async ({ id, service }: ScheduledRun): Promise<Instance | undefined> =>
  (await driver.observe({ service, rollout: id }, signal))[0];
async function output(id: string): Promise<string[]> {
  const lines: LogLine[] = [];
  await driver.followLogs(id, null, (line) => void lines.push(line), signal);
  return lines.map(({ text }) => text);
}
async function names(kind: string, one: ClusterSchedule): Promise<string[]> {
  const query = { labelSelector: labelSelector(installation, null, { service: serviceOf(one) }) };
  return (await list<KubernetesObject>(api, { path: pathOf(kind), query }, signal)).items.map(
    ({ metadata }) => metadata?.name ?? '',
  );
}

describe.skipIf(cluster.missing !== null)(
  `schedules of Kubernetes${cluster.missing === null ? '' : ` (${cluster.missing})`}`,
  () => {
    beforeAll(async () => {
      api = openApi(readKubeconfig(cluster.kubeconfig));
      driver = await openTestDriver(cluster, installation);
    });
    afterAll(async () => {
      await driver.removeEnvironment(environment, context);
      driver.close();
      closeApi(api);
    });

    test('the cluster can, but for what it has no words for', async () => {
      expect(await driver.schedules.unable({ expression: '0 9 * * fri-sun' }, signal)).toBeNull();
      expect(await driver.schedules.unable({ expression: '0 9 L * *' }, signal)).toMatch(/know L/);
      await expect(apply(schedule('true', { expression: '99 * * * *' }))).rejects.toMatchObject({ code: 'SCHEDULE_REFUSED' });
    });

    test('a schedule is replaced, suspended, resumed and removed, each as often as one likes', async () => {
      const one = schedule('true', { expression: '0 3 1 1 *' });
      const owner = { environment, service: serviceOf(one) };
      await apply(one, true);
      const [name] = await names('CronJob', one);
      await apply({ ...one, expression: '0 4 1 1 *', workload: { ...one.workload, rollout: 'second' } }, true);
      const after = await names('CronJob', one);
      expect(after).toHaveLength(1);
      expect(after).not.toEqual([name]);
      const state = async () => (await driver.schedules.list(signal)).filter(({ service }) => service === owner.service);
      expect(await state()).toEqual([{ ...owner, rollout: 'second', isSuspended: true }]);
      await driver.schedules.resume({ ...owner, rollout: 'first' }, signal);
      expect(await state()).toMatchObject([{ isSuspended: true }]);
      await driver.schedules.resume({ ...owner, rollout: 'second' }, signal);
      await driver.schedules.resume({ ...owner, rollout: 'second' }, signal);
      expect(await state()).toMatchObject([{ isSuspended: false }]);
      await driver.schedules.suspend(owner, signal);
      expect(await state()).toMatchObject([{ isSuspended: true }]);
      for (let times = 0; times < 2; times += 1) await driver.schedules.remove(owner, signal);
      expect(await state()).toEqual([]);
      await driver.removeService(environment, owner.service, context);
      expect(await names('Secret', one)).toEqual([]);
    });

    test('runs begin, are held for a reader, end without one, are told apart, and go when they are retired', async () => {
      const plain = schedule('echo "plain $KEY"');
      const telling = schedule('echo told >/davit-output/file', { holdSeconds: 30 });
      const unread = schedule('echo told >/davit-output/file', { holdSeconds: 5 });
      // Five runs begin at once. On a busy node, the first container of a pod takes seconds to start.
      const late = schedule('echo begun; sleep 600', { maxSeconds: 20 });
      const absent = schedule('true', {}, cluster.image.replace(/[:@][^/]*$/, ':davit-absent'));
      const quiet = schedule('true');
      await apply(quiet, true);
      for (const one of [plain, telling, unread, late, absent]) await apply(one);

      const lost = await run(absent);
      const workload = { ...absent.workload, rollout: lost.id };
      await expect(driver.schedules.awaitStarted(workload, context)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });

      const read = await run(telling);
      await expect.poll(async () => (await instanceOf(read))?.state, poll).toBe('EXITED');
      const held = await instanceOf(read);
      expect(await driver.readFile(held?.id ?? '', { path: '/davit-output/file', maxBytes: 100 }, signal)).toBe('told\n');

      const done = await run(plain);
      await expect.poll(async () => (await runsOf(plain))[0]?.isOver, poll).toBe(true);
      const instance = await instanceOf(done);
      expect(instance).toMatchObject({ state: 'EXITED', exit: { code: 0 }, rollout: done.id, scheduled: true });
      expect(instance).not.toHaveProperty('foldersLost');
      expect(await output(instance?.id ?? '')).toEqual(['plain canary']);
      expect(new Date(done.dueAt).getUTCSeconds()).toBe(0);

      const missed = await run(unread);
      await expect.poll(async () => (await runsOf(unread))[0]?.isOver, poll).toBe(true);
      expect(await instanceOf(missed)).toMatchObject({ exit: { code: 0 }, foldersLost: true });

      const slow = await run(late);
      await expect.poll(async () => (await instanceOf(slow))?.state, poll).toBe('EXITED');
      const ended = await instanceOf(slow);
      expect(ended?.exit?.code).not.toBe(0);
      // The output of the run is kept, although the cluster has ended the run.
      expect(await output(ended?.id ?? '')).toEqual(['begun']);
      expect(await runsOf(quiet)).toEqual([]);

      await driver.schedules.remove({ environment, service: serviceOf(late) }, signal);
      expect(await names('Job', late)).not.toEqual([]);

      for (const one of [plain, telling, unread, late, absent, quiet]) {
        await driver.schedules.remove({ environment, service: serviceOf(one) }, signal);
        await driver.retire({ service: serviceOf(one) }, 0, context);
        for (const kind of ['CronJob', 'Job', 'Pod', 'Secret']) expect(await names(kind, one)).toEqual([]);
      }
    });
  },
);
