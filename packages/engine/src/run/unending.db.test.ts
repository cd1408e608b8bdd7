import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { afterEach, describe, expect, test } from 'vitest';
import { createEngine, type EngineHooks, type JobRelease, type RequestedService } from '../index.ts';
import { config } from '../testing/config.ts';
import { Sites } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

/* Every deployment ends, whatever happens to it: with a cause that the user sees, and soon after a cancel. */

let fixture: TestEngine;
afterEach(() => fixture.close());

const logOf = statement<{ message: string; level: string }>(
  'test_log_of_deployment',
  'select message, level from deployment_log where deployment_id = $1 order by id',
);
const begunSteps = statement<{ name: string; status: string }>(
  'test_begun_steps',
  `select name, status from deployment_step where deployment_id = $1 and status <> 'PENDING' order by position`,
);
const schedules = statement<{ service_id: string }>('test_schedules', 'select service_id from job_schedule');
const setDue = statement('test_due', 'update job_schedule set next_at = clock_timestamp() where service_id = $1');
const failureOfRun = statement<{ code: string | null }>(
  'test_failure_of_run',
  `select failure ->> 'code' as code from job_run where service_id = $1`,
);
const locations = statement<{ service_id: string }>('test_places', 'select service_id from service_place');

const image = (registryId: string | null): RequestedService =>
  service({ config: config({ source: { type: 'IMAGE', image: 'registry.example/shop', tag: '1', registryId } }) });

const tick: JobRelease = {
  maximumRestarts: 0,
  maximumSeconds: null,
  schedule: { expression: '0 0 1 1 *', timezone: 'Etc/UTC' },
  events: { CRON: { entrypoint: ['/tick'], arguments: [] } },
};

async function log(deploymentId: string): Promise<string> {
  return (await fixture.database.database.many(logOf, [deploymentId]))
    .map(({ level, message }) => `${level} ${message}`)
    .join('\n');
}

/** Returns the steps that the deployment of one service has begun, each with its end. */
async function stepsOf(deploymentId: string): Promise<string[]> {
  const steps = await fixture.database.database.many(begunSteps, [deploymentId]);
  return steps.map(({ name, status }) => `${name} ${status}`);
}

/** Creates a world whose resources return other results. */
async function withHooks(hooks: Partial<EngineHooks>): Promise<() => Promise<void>> {
  fixture = await createTestEngine();
  await fixture.engine.stop();
  const engine = createEngine({ ...fixture.input, hooks: { ...fixture.input.hooks, ...hooks } });
  await engine.start();
  return () => engine.stop();
}

/** Makes calls of this method hang until their signal aborts. Returns the services of these calls. */
function hold(method: string): { readonly held: string[] } {
  const held: string[] = [];
  fixture.fake.script = {
    before: async (call) => {
      if (call.method !== method) return;
      held.push(call.service ?? '');
      await new Promise(() => undefined);
    },
  };
  return { held };
}

const isHeld = ({ held }: { readonly held: string[] }, many: number): Promise<true> =>
  eventually(() => Promise.resolve(held.length === many || undefined), `${many} that are under way`);

describe('what keeps a deployment from beginning', () => {
  test('a registry that Davit cannot sign in to fails it, and says so', async () => {
    const refusal = new AppError({ code: 'NOT_SUPPORTED', message: 'This kind of registry is not signed in to.' });
    const stop = await withHooks({ registryCredentials: () => Promise.reject(refusal) });
    const shop = image(randomUUID());
    expect(await fixture.ends(await fixture.deploy([shop]))).toBe('FAILED');
    expect((await fixture.view(shop.serviceId)).failure).toMatchObject({
      code: 'REGISTRY_ACCESS_DENIED',
      message: expect.stringContaining('not signed in to'),
    });
    expect(await fixture.ends(await fixture.deploy([{ ...shop, release: undefined }], { action: 'DELETE' }))).toBe('SUCCEEDED');
    await stop();
  });

  test('a secret that cannot be read fails it; the others are shown nowhere', async () => {
    const [good, bad] = [randomUUID(), randomUUID()];
    const refusal = new AppError({ code: 'SECRET_UNREADABLE', message: 'The secret cannot be read with this key.' });
    const stop = await withHooks({
      secrets: (ids) =>
        ids.includes(bad) ? Promise.reject(refusal) : Promise.resolve(new Map(ids.map((id) => [id, 'hush-hush']))),
    });
    const environment = [good, bad].map((secret) => ({ name: `V${secret.slice(0, 8)}`, parts: [{ secret }] }));
    const shop = service({ config: config({ environment }) });
    let talks = true;
    fixture.fake.script = {
      before: ({ method }) => {
        if (method === 'build' && talks) throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'it said hush-hush' });
      },
    };
    const first = await fixture.deploy([shop]);
    expect(await fixture.ends(first)).toBe('FAILED');
    expect(await log(first)).toContain('it said ');
    expect(await log(first)).not.toContain('hush-hush');
    talks = false;
    expect(await fixture.ends(await fixture.deploy([shop]))).toBe('FAILED');
    expect((await fixture.view(shop.serviceId)).failure).toMatchObject({ code: 'SECRET_UNREADABLE' });
    await stop();
  });

  test('nor does it a run of a schedule', async () => {
    const refusal = new AppError({ code: 'SECRET_UNREADABLE', message: 'The secret cannot be read with this key.' });
    const bad = randomUUID();
    const stop = await withHooks({
      secrets: (ids) => (ids.includes(bad) ? Promise.reject(refusal) : Promise.resolve(new Map())),
    });
    const environment = [{ name: 'A', parts: [{ secret: bad }] }];
    const source = { type: 'IMAGE', image: 'registry.example/tick', tag: '1', registryId: null } as const;
    const job = service({ serviceType: 'JOB', config: config({ source, environment, ports: [], instances: 0, job: tick }) });
    expect(await fixture.ends(await fixture.deploy([job]))).toBe('SUCCEEDED');
    await fixture.database.database.run(setDue, [job.serviceId]);
    const failure = async () => (await fixture.database.database.maybe(failureOfRun, [job.serviceId]))?.code ?? undefined;
    expect(await eventually(failure, 'the end of the run')).toBe('SECRET_UNREADABLE');
    await stop();
  });

  test('what nobody expects fails it after some tries, and the next one works', async () => {
    let failures = Number.POSITIVE_INFINITY;
    const stop = await withHooks({
      secrets: () => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new TypeError('a fault of Davit')) : Promise.resolve(new Map());
      },
    });
    const shop = service({ config: config({ environment: [{ name: 'A', parts: [{ secret: randomUUID() }] }] }) });
    const deploymentId = await fixture.deploy([shop]);
    expect((await fixture.reaches(shop.serviceId, 'DEPLOYMENT_ERROR')).failure).toMatchObject({ code: 'INTERNAL' });
    expect(await fixture.ends(deploymentId)).toBe('FAILED');
    failures = 0;
    const plain = service();
    expect(await fixture.ends(await fixture.deploy([plain]))).toBe('SUCCEEDED');
    await stop();
  }, 30_000);
});

test('an environment that its cluster does not let go of says so, and is removed when somebody asks again', async () => {
  fixture = await createTestEngine();
  const shop = service();
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
  let refuses = true;
  fixture.fake.script = {
    before: ({ method }) => {
      if (method === 'removeEnvironment' && refuses)
        throw new DriverError({ cause: 'ENGINE_FAILED', message: 'The network has active endpoints' });
    },
  };
  const request = { action: 'DELETE', wholeEnvironment: true } as const;
  const first = await fixture.deploy([{ ...shop, release: undefined }], request);
  expect(await fixture.ends(first)).toBe('FAILED');
  expect(await log(first)).toMatch(/ERROR The environment could not be removed: The network has active endpoints/);
  const isThere = async () => (await fixture.engine.port.environment(fixture.database.database, fixture.environmentId)).last;
  expect(await isThere()).toMatchObject({ running: false });
  refuses = false;
  await fixture.deploy([], request);
  await eventually(async () => ((await isThere()) === null ? true : undefined), 'the end of the environment');
  expect(fixture.deleted).toContain(fixture.environmentId);
});

test('a service whose image exists does not wait for the builds of others', async () => {
  fixture = await createTestEngine({ maximumBuilds: 1 });
  const shop = service();
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
  const builds = hold('build');
  const elsewhere = { environment: { ...fixture.environment, environmentId: randomUUID() } };
  await fixture.deploy([service()], elsewhere);
  await isHeld(builds, 1);
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('SUCCEEDED');
  expect(builds.held).toHaveLength(1);
});

test('a service that is not built does not wait for git hosts that do not answer others', async () => {
  fixture = await createTestEngine();
  const lookups = hold('resolve');
  for (let index = 0; index < 2; index += 1) {
    const environment = { ...fixture.environment, environmentId: randomUUID() };
    await fixture.deploy([service(), service(), service(), service()], { environment });
  }
  await isHeld(lookups, 8);
  expect(await fixture.ends(await fixture.deploy([image(null)]))).toBe('SUCCEEDED');
});

describe('a cancel', () => {
  test('ends what waits for the builds of others', async () => {
    fixture = await createTestEngine({ maximumBuilds: 1 });
    const builds = hold('build');
    const elsewhere = { environment: { ...fixture.environment, environmentId: randomUUID() } };
    await fixture.deploy([service()], elsewhere);
    await isHeld(builds, 1);
    const shop = service();
    const deploymentId = await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'BUILDING');
    await fixture.engine.port.cancel(fixture.environmentId, false);
    expect(await fixture.ends(deploymentId)).toBe('CANCELED');
    expect(builds.held).toHaveLength(1);
    expect((await fixture.view(shop.serviceId)).state).toBe('CANCELED');
  });

  test('ends what Davit was building when it stopped, and the build is not shown as running any more', async () => {
    fixture = await createTestEngine();
    const builds = hold('build');
    const shop = service();
    const deploymentId = await fixture.deploy([shop]);
    await isHeld(builds, 1);
    await fixture.engine.stop();
    expect(await stepsOf(deploymentId)).toEqual(['resolve DONE', 'checkout DONE', 'build RUNNING']);
    await fixture.engine.port.cancel(fixture.environmentId, false);
    const engine = createEngine(fixture.input);
    await engine.start();
    expect(await fixture.ends(deploymentId)).toBe('CANCELED');
    expect(await stepsOf(deploymentId)).toEqual(['resolve DONE', 'checkout DONE', 'build CANCELED']);
    await engine.stop();
  });

  test('during the builds of a stage deploys nothing of it, also not what is built already', async () => {
    fixture = await createTestEngine();
    const stage = { id: randomUUID(), name: 'JOB DEFAULT', position: 2 };
    const cron = (name: string): RequestedService =>
      service({ name, serviceType: 'JOB', stage, config: config({ name, ports: [], instances: 0, job: tick }) });
    const [quick, slow] = [cron('quick'), cron('slow')];
    let held = false;
    let built = false;
    fixture.fake.script = {
      before: async ({ method, service: of }) => {
        if (method !== 'build' || of !== slow.serviceId) return;
        held = true;
        await new Promise(() => undefined);
      },
      after: ({ method, service: of }) => {
        if (method === 'build' && of === quick.serviceId) built = true;
      },
    };
    const deploymentId = await fixture.deploy([quick, slow]);
    await eventually(() => Promise.resolve((held && built) || undefined), 'one build that is done, one that is not');
    await fixture.engine.port.cancel(fixture.environmentId, false);
    expect(await fixture.ends(deploymentId)).toBe('CANCELED');
    expect((await fixture.view(quick.serviceId)).state).toBe('CANCELED');
    expect(await fixture.database.database.many(schedules)).toEqual([]);
  });

  test('of a stop that has begun does not call it canceled', async () => {
    const sites = new Sites();
    const east = sites.add('east');
    fixture = await createTestEngine({}, sites);
    const shop = service();
    const { environment } = east;
    expect(await fixture.ends(await fixture.deploy([shop], { environment }))).toBe('SUCCEEDED');
    east.isDown = true;
    const deploymentId = await fixture.deploy([{ ...shop, release: undefined }], { environment, action: 'STOP' });
    await eventually(async () => /waits for it/.test(await log(deploymentId)) || undefined, 'the cluster to be waited for');
    await fixture.engine.port.cancel(environment.environmentId, false);
    expect(await fixture.ends(deploymentId)).toBe('FAILED');
    expect((await fixture.view(shop.serviceId)).state).toBe('STOP_ERROR');
    expect((await stepsOf(deploymentId)).at(-1)).toMatch(/ FAILED$/);
    expect(await log(deploymentId)).toContain('Stopping it has begun and is not canceled');
    east.isDown = false;
    await eventually(() => Promise.resolve(east.fake.instances.length === 0 || undefined), 'the instances to go');
  });
});

describe('what waits in the queue', () => {
  test('goes to the cluster that it was asked for; after a move another deployment goes to the new one', async () => {
    const sites = new Sites();
    const [east, west] = [sites.add('east'), sites.add('west')];
    fixture = await createTestEngine({}, sites);
    const { environment } = east;
    let held: (() => void) | undefined;
    east.onCall = async ({ method }) => {
      if (method === 'build') await new Promise<void>((done) => (held = done));
    };
    const [other, shop] = [service(), service()];
    const first = await fixture.deploy([other], { environment });
    await eventually(() => Promise.resolve(held), 'the first one');
    const before = await fixture.deploy([shop], { environment });
    const moved = { ...west.environment, environmentId: environment.environmentId };
    const after = await fixture.deploy([shop], { environment: moved });
    expect(after).not.toBe(before);
    expect(await fixture.deploy([shop], { environment: moved })).toBe(after);
    east.onCall = null;
    held?.();
    for (const id of [first, before, after]) expect(await fixture.ends(id)).toBe('SUCCEEDED');
    expect(west.fake.instances.map((instance) => instance.service)).toEqual([shop.serviceId]);
    expect(east.fake.instances.map((instance) => instance.service)).toEqual([other.serviceId]);
  });

  test('a restart behind a first deployment that fails says that there is nothing to restart', async () => {
    fixture = await createTestEngine();
    let held: (() => void) | undefined;
    fixture.fake.script = {
      before: async ({ method }) => {
        if (method !== 'build') return;
        await new Promise<void>((done) => (held = done));
        throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'RUN false: exit code 1' });
      },
    };
    const shop = service();
    await fixture.deploy([shop]);
    await eventually(() => Promise.resolve(held), 'the build');
    const deploymentId = await fixture.deploy([{ ...shop, release: undefined }], { action: 'RESTART' });
    held?.();
    expect(await fixture.ends(deploymentId)).toBe('FAILED');
    expect((await fixture.view(shop.serviceId)).failure).toMatchObject({
      code: 'NEVER_DEPLOYED',
      message: expect.stringContaining('Deploy it first'),
    });
  });
});

test('what a first deployment that failed left on its cluster goes with the service', async () => {
  fixture = await createTestEngine();
  const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
  const shop = service({ config: config({ volumes }) });
  fixture.fake.script = {
    before: ({ method }) => {
      if (method === 'awaitReady') throw new DriverError({ cause: 'PROBE_FAILED', message: 'nothing listens' });
    },
  };
  expect(await fixture.ends(await fixture.deploy([shop]))).toBe('FAILED');
  expect(fixture.fake.volumes.size).toBe(1);
  expect(await fixture.engine.port.isKnown(fixture.database.database, shop.serviceId)).toBe(true);
  fixture.fake.script = {};
  expect(await fixture.ends(await fixture.deploy([{ ...shop, release: undefined }], { action: 'DELETE' }))).toBe('SUCCEEDED');
  expect(fixture.fake.volumes.size).toBe(0);
  expect(await fixture.database.database.many(locations)).toEqual([]);
});
