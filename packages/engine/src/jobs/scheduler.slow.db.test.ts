import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import type { Instance } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { EnvironmentRef, JobRelease, RequestedService } from '../port.ts';
import { config } from '../testing/config.ts';
import { Sites, type Site } from '../testing/sites.ts';
import { createTestEngine, service, type TestEngine } from '../testing/test-engine.ts';

/* Tests that one cron job does not disturb the others. */

let fixture: TestEngine;
let east: Site;
let west: Site;
beforeEach(async () => {
  const sites = new Sites(true, false, true);
  east = sites.add('east');
  west = sites.add('west');
  fixture = await createTestEngine({}, sites);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.close();
});

const launchesAtOnce = 64;
const looksAtOnce = 8;
const many = launchesAtOnce + 6;
const patience = { timeout: 30_000, interval: 20 };

const setDue = statement(
  'test_scheduler_due',
  'update job_schedule set next_at = clock_timestamp() - make_interval(secs => $2::float8) where service_id = any($1::uuid[])',
);
const setZone = statement(
  'test_scheduler_zone',
  `update release set config = jsonb_set(config, '{job,schedule,timezone}', to_jsonb($2::text)) where service_id = $1`,
);
const readRuns = statement<{ service_id: string; status: string }>(
  'test_scheduler_runs',
  'select service_id, status from job_run where service_id = any($1::uuid[]) order by created_at',
);

function cron(name = 'tick'): RequestedService {
  const job: JobRelease = {
    events: { CRON: { entrypoint: ['/tick'], arguments: [] } },
    schedule: { expression: '0 3 * * *', timezone: 'Etc/UTC' },
    maximumRestarts: 0,
    maximumSeconds: null,
  };
  const source = { type: 'IMAGE', image: 'registry.example/tick', tag: '1', registryId: null } as const;
  const stage = { id: randomUUID(), name: 'JOB DEFAULT', position: 1 };
  const release = config({ name, source, ports: [], instances: 0, job });
  return service({ serviceType: 'JOB', name, stage, config: release });
}

const armed = async (count: number, environment: EnvironmentRef = fixture.environment): Promise<RequestedService[]> => {
  const jobs = Array.from({ length: count }, () => cron());
  const id = await fixture.deploy(jobs, { environment });
  await vi.waitFor(async () => expect(await ended(id)).toBe('SUCCEEDED'), patience);
  return jobs;
};
const one = async (environment?: EnvironmentRef): Promise<RequestedService> => {
  const [job] = await armed(1, environment);
  if (job === undefined) throw new Error('it was not armed');
  return job;
};
const readEnd = statement<{ status: string }>('test_scheduler_end', 'select status from deployment where id = $1');
const ended = async (id: string): Promise<string | undefined> => (await fixture.database.database.maybe(readEnd, [id]))?.status;
const idsOf = (jobs: readonly RequestedService[]): string[] => jobs.map(({ serviceId }) => serviceId);
/** Makes the schedules due since this number of seconds. */
const due = (jobs: readonly RequestedService[], seconds = 0): Promise<number> =>
  fixture.database.database.run(setDue, [idsOf(jobs), seconds]);
const statuses = async (...jobs: readonly RequestedService[]): Promise<string[]> =>
  (await fixture.database.database.many(readRuns, [idsOf(jobs)])).map(({ status }) => status);
const instanceOf = ({ serviceId }: RequestedService): Instance | undefined =>
  fixture.fake.instances.find(({ service: of, state }) => of === serviceId && state === 'RUNNING');
const startsOf = (jobs: readonly RequestedService[]): number =>
  fixture.fake.calls.filter(({ method, service: of }) => method === 'start' && idsOf(jobs).includes(of)).length;
const logOf = async ({ serviceId }: RequestedService): Promise<string[]> =>
  (await fixture.engine.port.serviceLog(fixture.database.database, serviceId, 100)).map(({ message }) => message);

const started = (job: RequestedService): Promise<Instance> =>
  vi.waitFor(() => {
    const instance = instanceOf(job);
    if (instance === undefined) throw new Error('it was not started');
    return instance;
  }, patience);

/** Makes the schedule of the job due. Resolves when its run was started and has ended. */
async function runsOnce(job: RequestedService): Promise<void> {
  const before = (await statuses(job)).length;
  await due([job]);
  const { id } = await started(job);
  fixture.fake.kill(id, 0);
  await vi.waitFor(async () => expect((await statuses(job)).slice(before)).toEqual(['SUCCEEDED']), patience);
  await vi.waitFor(() => expect(instanceOf(job)).toBeUndefined(), patience);
}

describe('many runs that are long', { timeout: 120_000 }, () => {
  test('are all started, and keep no other job from its time', async () => {
    const [short, ...long] = await armed(many + 1);
    if (short === undefined) throw new Error('it was not armed');
    await due(long);
    await vi.waitFor(() => expect(long.filter(instanceOf)).toHaveLength(many), patience);
    await runsOnce(short);
    expect(await statuses(...long)).toEqual(long.map(() => 'RUNNING'));
  });

  test('are not all looked at in the same moment', async () => {
    const long = await armed(many);
    let [now, most] = [0, 0];
    const looked = new Set<string>();
    fixture.fake.script = {
      before: async ({ method, service: of }) => {
        if (method !== 'observe' || of === '') return;
        looked.add(of);
        now += 1;
        most = Math.max(most, now);
        // Waits until all looks that may run at once are running.
        await vi.waitFor(() => expect(now === looksAtOnce || looked.size === many).toBe(true), patience);
      },
      after: ({ method, service: of }) => {
        if (method === 'observe' && of !== '') now -= 1;
      },
    };
    await due(long);
    await vi.waitFor(() => expect(looked.size).toBe(many), patience);
    expect(most).toBe(looksAtOnce);
  });

  test('of a cluster that starts them keep no run of another one waiting, nor what it tells', async () => {
    const long = await armed(many, east.environment);
    const short = await one(west.environment);
    for (const { serviceId } of long) east.fake.schedules.due(serviceId);
    await vi.waitFor(async () => expect(await statuses(...long)).toHaveLength(many), patience);
    for (const [site, job] of [
      [west, short],
      [east, long[0] ?? short],
    ] as const) {
      const instance =
        site.fake.instances.find(({ service: of }) => of === job.serviceId) ?? site.fake.schedules.due(job.serviceId);
      if (instance === null) throw new Error('the cluster begins no run');
      site.fake.write(instance.id, '/davit-output/davit-output.json', '{"HOST": {"value": "db"}}');
      site.fake.kill(instance.id, 0);
      await vi.waitFor(async () => expect(await statuses(job)).toEqual(['SUCCEEDED']), patience);
      expect(fixture.outputs.get(job.serviceId)).toMatchObject([{ name: 'HOST', value: 'db' }]);
    }
    // The last runs are awaited like the first ones.
    for (const { id } of east.fake.instances) east.fake.kill(id, 0);
    await vi.waitFor(async () => expect(new Set(await statuses(...long))).toEqual(new Set(['SUCCEEDED'])), patience);
    await vi.waitFor(() => expect(east.fake.instances).toEqual([]), patience);
  });
});

describe('many runs that are to be started at once', { timeout: 120_000 }, () => {
  /** Blocks all starts of these jobs. Returns a function that unblocks them. */
  function hold(jobs: readonly RequestedService[]): () => void {
    const held = Promise.withResolvers<void>();
    const isHeld = new Set(idsOf(jobs));
    fixture.fake.script = {
      before: async ({ method, service: of }) => {
        if (method === 'start' && isHeld.has(of)) await held.promise;
      },
    };
    return held.resolve;
  }

  test('take turns, those that wait hear that Davit stops, and are started by whoever comes next', async () => {
    const jobs = await armed(many);
    hold(jobs);
    await due(jobs);
    await vi.waitFor(() => expect(startsOf(jobs)).toBe(launchesAtOnce), patience);
    await vi.waitFor(async () => expect(await statuses(...jobs)).toHaveLength(many), patience);
    await fixture.engine.stop();
    expect(startsOf(jobs)).toBe(launchesAtOnce);
    fixture.fake.script = {};
    await fixture.restart();
    await vi.waitFor(() => expect(jobs.filter(instanceOf)).toHaveLength(many), patience);
    for (const { id } of fixture.fake.instances) fixture.fake.kill(id, 0);
    await vi.waitFor(async () => expect(new Set(await statuses(...jobs))).toEqual(new Set(['SUCCEEDED'])), patience);
  });

  test('keep nobody from reading what a run left that has ended', async () => {
    const [ready, ...jobs] = await armed(launchesAtOnce + 1);
    if (ready === undefined) throw new Error('it was not armed');
    await due([ready]);
    const { id } = await started(ready);
    hold(jobs);
    await due(jobs);
    await vi.waitFor(() => expect(startsOf(jobs)).toBe(launchesAtOnce), patience);
    fixture.fake.write(id, '/davit-output/davit-output.json', '{"HOST": {"value": "db"}}');
    fixture.fake.kill(id, 0);
    await vi.waitFor(() => expect(fixture.outputs.get(ready.serviceId)).toMatchObject([{ value: 'db' }]), patience);
    await vi.waitFor(async () => expect(await statuses(ready)).toEqual(['SUCCEEDED']), patience);
  });

  test('wait for their own cluster alone, and one that is stopped meanwhile is not started', async () => {
    east.fake.schedules.unable = 'know schedules';
    const elsewhere = await one(east.environment);
    const jobs = await armed(launchesAtOnce);
    const ids = { ...fixture.environment, environmentId: randomUUID() };
    const stopped = await one(ids);
    const go = hold(jobs);
    await due(jobs);
    await vi.waitFor(() => expect(startsOf(jobs)).toBe(launchesAtOnce), patience);
    await due([stopped, elsewhere]);
    await vi.waitFor(() => expect(east.fake.instances).toMatchObject([{ state: 'RUNNING' }]), patience);
    await vi.waitFor(async () => expect(await statuses(stopped)).toEqual(['RUNNING']), patience);
    const { release: _release, ...bare } = stopped;
    const id = await fixture.deploy([bare], { action: 'STOP', environment: ids });
    await vi.waitFor(async () => expect(await ended(id)).toBe('SUCCEEDED'), patience);
    go();
    await vi.waitFor(async () => expect(await statuses(stopped)).toEqual(['CANCELED']), patience);
    expect(startsOf([stopped])).toBe(0);
  });
});

describe('a schedule that cannot be computed', { timeout: 60_000 }, () => {
  const reported = async (job: RequestedService): Promise<string[]> =>
    (await logOf(job)).filter((line) => /cannot be computed/.test(line));

  test('keeps no other one from its time, and says so once where its owner looks', async () => {
    const warn = vi.spyOn(fixture.input.log, 'warn');
    const [bad, good, under] = await armed(3);
    if (bad === undefined || good === undefined || under === undefined) throw new Error('they were not armed');
    // A run that is running while Davit starts.
    await due([under]);
    await vi.waitFor(() => expect(instanceOf(under)).toBeDefined(), patience);
    await fixture.engine.stop();
    await fixture.database.database.run(setZone, [bad.serviceId, 'Mars/Olympus']);
    await due([bad], 60);
    await fixture.restart();
    fixture.fake.kill(instanceOf(under)?.id ?? '', 0);
    await vi.waitFor(async () => expect(await statuses(under)).toEqual(['SUCCEEDED']), patience);
    // Each run begins at another look.
    await runsOnce(good);
    await runsOnce(good);
    expect(await reported(bad)).toEqual([expect.stringContaining('Mars/Olympus')]);
    expect(await statuses(bad)).toEqual([]);
    const warnings = warn.mock.calls.filter(([details]) => 'service' in details && details.service === bad.serviceId);
    expect(warnings).toHaveLength(1);
  });

  test('goes on by itself when it can be computed again, and tells no second time what is known', async () => {
    const bad = await one();
    const good = await one({ ...fixture.environment, environmentId: randomUUID() });
    await fixture.database.database.run(setZone, [bad.serviceId, 'Mars/Olympus']);
    await due([bad], 60);
    await vi.waitFor(async () => expect(await reported(bad)).toHaveLength(1), patience);
    const now = performance.now.bind(performance);
    let later = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
    later += 120_000;
    await runsOnce(good);
    await runsOnce(good);
    expect(await reported(bad)).toHaveLength(1);
    await fixture.database.database.run(setZone, [bad.serviceId, 'Etc/UTC']);
    later += 120_000;
    await vi.waitFor(() => expect(instanceOf(bad)).toBeDefined(), patience);
    expect(await statuses(bad)).toEqual(['RUNNING']);
  });

  test('begins at once with a deployment that corrects it', async () => {
    const bad = await one();
    await fixture.database.database.run(setZone, [bad.serviceId, 'Mars/Olympus']);
    await due([bad], 60);
    await vi.waitFor(async () => expect(await reported(bad)).toHaveLength(1), patience);
    const id = await fixture.deploy([bad]);
    await vi.waitFor(async () => expect(await ended(id)).toBe('SUCCEEDED'), patience);
    await runsOnce(bad);
  });
});

test('a schedule that the database does not move on concerns no other one', { timeout: 60_000 }, async () => {
  const [bad, good] = await armed(2);
  if (bad === undefined || good === undefined) throw new Error('they were not armed');
  const refuse = statement(
    'test_scheduler_refuse',
    `alter table job_run add constraint test_refuse check (service_id <> '${bad.serviceId}')`,
  );
  await fixture.database.database.run(refuse, []);
  await due([bad], 60);
  await runsOnce(good);
  await vi.waitFor(async () => expect(await logOf(bad)).toHaveLength(1), patience);
  // Errors of the database are not shown to users there.
  expect((await logOf(bad)).join()).not.toMatch(/test_refuse|job_run/);
});
