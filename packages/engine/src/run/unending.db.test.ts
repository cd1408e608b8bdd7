import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import { statement } from '@davit/db';
import { DriverError } from '@davit/drivers';
import { afterEach, describe, expect, test } from 'vitest';
import { createEngine, type EngineHooks, type JobRelease, type RequestedService } from '../index.ts';
import { config } from '../testing/config.ts';
import { Sites } from '../testing/sites.ts';
import { createWorld, eventually, service, type World } from '../testing/world.ts';

/* Every deployment ends, whatever happens to it: with a cause that the user sees, and soon after a cancel. */

let world: World;
afterEach(() => world.close());

const logOf = statement<{ message: string; level: string }>(
  'testLogOfDeployment',
  'select message, level from deployment_log where deployment_id = $1 order by id',
);
const schedules = statement<{ service_id: string }>('testSchedules', 'select service_id from job_schedule');
const setDue = statement('testDue', 'update job_schedule set next_at = clock_timestamp() where service_id = $1');
const failureOfRun = statement<{ code: string | null }>(
  'testFailureOfRun',
  `select failure ->> 'code' as code from job_run where service_id = $1`,
);
const places = statement<{ service_id: string }>('testPlaces', 'select service_id from service_place');

const image = (registryId: string | null): RequestedService =>
  service({ config: config({ source: { type: 'IMAGE', image: 'registry.example/shop', tag: '1', registryId } }) });

const tick: JobRelease = {
  maximumRestarts: 0,
  maximumSeconds: null,
  schedule: { expression: '0 0 1 1 *', timezone: 'Etc/UTC' },
  events: { CRON: { entrypoint: ['/tick'], arguments: [] } },
};

async function log(deploymentId: string): Promise<string> {
  return (await world.database.database.many(logOf, [deploymentId]))
    .map(({ level, message }) => `${level} ${message}`)
    .join('\n');
}

/** Creates a world whose resources return other results. */
async function withHooks(hooks: Partial<EngineHooks>): Promise<() => Promise<void>> {
  world = await createWorld();
  await world.engine.stop();
  const engine = createEngine({ ...world.input, hooks: { ...world.input.hooks, ...hooks } });
  await engine.start();
  return () => engine.stop();
}

/** Makes calls of this method hang until their signal aborts. Returns the services of these calls. */
function hold(method: string): { readonly held: string[] } {
  const held: string[] = [];
  world.fake.script = {
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
    expect(await world.ends(await world.deploy([shop]))).toBe('FAILED');
    expect((await world.view(shop.serviceId)).failure).toMatchObject({
      code: 'REGISTRY_ACCESS_DENIED',
      message: expect.stringContaining('not signed in to'),
    });
    expect(await world.ends(await world.deploy([{ ...shop, release: undefined }], { action: 'DELETE' }))).toBe('SUCCEEDED');
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
    world.fake.script = {
      before: ({ method }) => {
        if (method === 'build' && talks) throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'it said hush-hush' });
      },
    };
    const first = await world.deploy([shop]);
    expect(await world.ends(first)).toBe('FAILED');
    expect(await log(first)).toContain('it said ');
    expect(await log(first)).not.toContain('hush-hush');
    talks = false;
    expect(await world.ends(await world.deploy([shop]))).toBe('FAILED');
    expect((await world.view(shop.serviceId)).failure).toMatchObject({ code: 'SECRET_UNREADABLE' });
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
    expect(await world.ends(await world.deploy([job]))).toBe('SUCCEEDED');
    await world.database.database.run(setDue, [job.serviceId]);
    const failure = async () => (await world.database.database.maybe(failureOfRun, [job.serviceId]))?.code ?? undefined;
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
    const deploymentId = await world.deploy([shop]);
    expect((await world.reaches(shop.serviceId, 'DEPLOYMENT_ERROR')).failure).toMatchObject({ code: 'INTERNAL' });
    expect(await world.ends(deploymentId)).toBe('FAILED');
    failures = 0;
    const plain = service();
    expect(await world.ends(await world.deploy([plain]))).toBe('SUCCEEDED');
    await stop();
  }, 30_000);
});

test('an environment that its cluster does not let go of says so, and is removed when somebody asks again', async () => {
  world = await createWorld();
  const shop = service();
  expect(await world.ends(await world.deploy([shop]))).toBe('SUCCEEDED');
  let refuses = true;
  world.fake.script = {
    before: ({ method }) => {
      if (method === 'removeEnvironment' && refuses)
        throw new DriverError({ cause: 'ENGINE_FAILED', message: 'The network has active endpoints' });
    },
  };
  const request = { action: 'DELETE', wholeEnvironment: true } as const;
  const first = await world.deploy([{ ...shop, release: undefined }], request);
  expect(await world.ends(first)).toBe('FAILED');
  expect(await log(first)).toMatch(/ERROR The environment could not be removed: The network has active endpoints/);
  const isThere = async () => (await world.engine.port.environment(world.database.database, world.environmentId)).last;
  expect(await isThere()).toMatchObject({ running: false });
  refuses = false;
  await world.deploy([], request);
  await eventually(async () => ((await isThere()) === null ? true : undefined), 'the end of the environment');
  expect(world.deleted).toContain(world.environmentId);
});

describe('a cancel', () => {
  test('ends what waits for the builds of others', async () => {
    world = await createWorld({ maximumBuilds: 1 });
    const builds = hold('build');
    const elsewhere = { place: { ...world.place, environmentId: randomUUID() } };
    await world.deploy([service()], elsewhere);
    await isHeld(builds, 1);
    const shop = service();
    const deploymentId = await world.deploy([shop]);
    await world.reaches(shop.serviceId, 'BUILDING');
    await world.engine.port.cancel(world.environmentId, false);
    expect(await world.ends(deploymentId)).toBe('CANCELED');
    expect(builds.held).toHaveLength(1);
    expect((await world.view(shop.serviceId)).state).toBe('CANCELED');
  });

  test('during the builds of a stage deploys nothing of it, also not what is built already', async () => {
    world = await createWorld();
    const stage = { id: randomUUID(), name: 'JOB DEFAULT', position: 2 };
    const cron = (name: string): RequestedService =>
      service({ name, serviceType: 'JOB', stage, config: config({ name, ports: [], instances: 0, job: tick }) });
    const [quick, slow] = [cron('quick'), cron('slow')];
    let held = false;
    let built = false;
    world.fake.script = {
      before: async ({ method, service: of }) => {
        if (method !== 'build' || of !== slow.serviceId) return;
        held = true;
        await new Promise(() => undefined);
      },
      after: ({ method, service: of }) => {
        if (method === 'build' && of === quick.serviceId) built = true;
      },
    };
    const deploymentId = await world.deploy([quick, slow]);
    await eventually(() => Promise.resolve((held && built) || undefined), 'one build that is done, one that is not');
    await world.engine.port.cancel(world.environmentId, false);
    expect(await world.ends(deploymentId)).toBe('CANCELED');
    expect((await world.view(quick.serviceId)).state).toBe('CANCELED');
    expect(await world.database.database.many(schedules)).toEqual([]);
  });

  test('of a stop that has begun does not call it canceled', async () => {
    const sites = new Sites();
    const east = sites.add('east');
    world = await createWorld({}, sites);
    const shop = service();
    const { place } = east;
    expect(await world.ends(await world.deploy([shop], { place }))).toBe('SUCCEEDED');
    east.isDown = true;
    const deploymentId = await world.deploy([{ ...shop, release: undefined }], { place, action: 'STOP' });
    await eventually(async () => /waits for it/.test(await log(deploymentId)) || undefined, 'the cluster to be waited for');
    await world.engine.port.cancel(place.environmentId, false);
    expect(await world.ends(deploymentId)).toBe('FAILED');
    expect((await world.view(shop.serviceId)).state).toBe('STOP_ERROR');
    expect(await log(deploymentId)).toContain('Stopping it has begun and is not canceled');
    east.isDown = false;
    await eventually(() => Promise.resolve(east.fake.instances.length === 0 || undefined), 'the instances to go');
  });
});

describe('what waits in the queue', () => {
  test('goes to the cluster that it was asked for; after a move another deployment goes to the new one', async () => {
    const sites = new Sites();
    const [east, west] = [sites.add('east'), sites.add('west')];
    world = await createWorld({}, sites);
    const { place } = east;
    let held: (() => void) | undefined;
    east.onCall = async ({ method }) => {
      if (method === 'build') await new Promise<void>((done) => (held = done));
    };
    const [other, shop] = [service(), service()];
    const first = await world.deploy([other], { place });
    await eventually(() => Promise.resolve(held), 'the first one');
    const before = await world.deploy([shop], { place });
    const moved = { ...west.place, environmentId: place.environmentId };
    const after = await world.deploy([shop], { place: moved });
    expect(after).not.toBe(before);
    expect(await world.deploy([shop], { place: moved })).toBe(after);
    east.onCall = null;
    held?.();
    for (const id of [first, before, after]) expect(await world.ends(id)).toBe('SUCCEEDED');
    expect(west.fake.instances.map((instance) => instance.service)).toEqual([shop.serviceId]);
    expect(east.fake.instances.map((instance) => instance.service)).toEqual([other.serviceId]);
  });

  test('a restart behind a first deployment that fails says that there is nothing to restart', async () => {
    world = await createWorld();
    let held: (() => void) | undefined;
    world.fake.script = {
      before: async ({ method }) => {
        if (method !== 'build') return;
        await new Promise<void>((done) => (held = done));
        throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'RUN false: exit code 1' });
      },
    };
    const shop = service();
    await world.deploy([shop]);
    await eventually(() => Promise.resolve(held), 'the build');
    const deploymentId = await world.deploy([{ ...shop, release: undefined }], { action: 'RESTART' });
    held?.();
    expect(await world.ends(deploymentId)).toBe('FAILED');
    expect((await world.view(shop.serviceId)).failure).toMatchObject({
      code: 'NEVER_DEPLOYED',
      message: expect.stringContaining('Deploy it first'),
    });
  });
});

test('what a first deployment that failed left on its cluster goes with the service', async () => {
  world = await createWorld();
  const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
  const shop = service({ config: config({ volumes }) });
  world.fake.script = {
    before: ({ method }) => {
      if (method === 'awaitReady') throw new DriverError({ cause: 'PROBE_FAILED', message: 'nothing listens' });
    },
  };
  expect(await world.ends(await world.deploy([shop]))).toBe('FAILED');
  expect(world.fake.volumes.size).toBe(1);
  expect(await world.engine.port.isKnown(world.database.database, shop.serviceId)).toBe(true);
  world.fake.script = {};
  expect(await world.ends(await world.deploy([{ ...shop, release: undefined }], { action: 'DELETE' }))).toBe('SUCCEEDED');
  expect(world.fake.volumes.size).toBe(0);
  expect(await world.database.database.many(places)).toEqual([]);
});
