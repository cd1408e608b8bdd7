import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { DriverError } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { config } from './testing/config.ts';
import type { PlannedService, ReleaseConfig, RequestedService } from './port.ts';
import { createTestEngine, eventually, formerGone, service, type TestEngine } from './testing/test-engine.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(async () => {
  await fixture.close();
});

const page = { page: 1, pageSize: 20 };

function configOf({ release }: RequestedService): ReleaseConfig {
  if (release === undefined || !('config' in release)) throw new Error('the service is requested without a configuration');
  return release.config;
}

describe('a deployment', () => {
  test('builds, starts, routes and is remembered with its steps', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    const view = await fixture.reaches(shop.serviceId, 'DEPLOYED');
    expect(view).toMatchObject({ action: 'DEPLOY', actionStatus: 'SUCCESS', isPartOfLastDeployment: true, waitingRequests: 0 });
    expect(view.executionId).toMatch(/-1$/);
    expect(view.deployedConfigHash).toBe(fixture.engine.port.hash(configOf(shop)));
    await eventually(async () => (fixture.fake.routes.http[0]?.backends.length === 1 ? true : undefined), 'a route');
    const steps = (await fixture.view(shop.serviceId)).steps?.details.map((step) => `${step.metric} ${step.status}`);
    expect(steps).toEqual([
      'BUILD_QUEUEING SUCCESS',
      'GIT_CLONE SUCCESS',
      'BUILD SUCCESS',
      'DEPLOYMENT_QUEUEING SUCCESS',
      'DEPLOYMENT SUCCESS',
      'ROUTER_DEPLOYMENT SUCCESS',
    ]);
  });

  test('fetches the commit as it resolves it if the configuration runs already, and removes what it did not need', async () => {
    const resolve = vi.spyOn(fixture.fake.source, 'resolve');
    const folders = (): (string | undefined)[] => resolve.mock.calls.map(([, , directory]) => directory);
    const shop = service();
    await finished(1, () => fixture.deploy([shop]));
    const other = { ...shop, release: { config: { ...configOf(shop), memoryMiB: 96 }, commitId: null } };
    await finished(2, () => fixture.deploy([other]));
    expect(folders()).toEqual([undefined, undefined]);
    resolve.mockImplementationOnce(async (source, call, directory = '') => {
      await mkdir(directory, { recursive: true });
      return fixture.fake.source.resolve(source, call);
    });
    await finished(3, () => fixture.deploy([other]));
    const folder = folders()[2] ?? '';
    expect(folder).toContain(shop.serviceId);
    // The image of the commit exists, so nothing is checked out.
    expect(existsSync(folder)).toBe(false);
  });

  test('lets the engine restart the instances that serve, also those that are kept', async () => {
    const setRestartPolicy = vi.spyOn(fixture.fake.cluster, 'setRestartPolicy');
    const shop = service();
    for (const number of [1, 2]) await finished(number, () => fixture.deploy([shop]));
    expect(fixture.fake.calls.filter(({ method }) => method === 'start')).toHaveLength(1);
    const instance = expect.objectContaining({ service: shop.serviceId });
    expect(setRestartPolicy.mock.calls.map(([instances]) => instances)).toEqual([[instance], [instance]]);
  });

  test('of an image pulls it, and runs what its tag meant then', async () => {
    const image = { type: 'IMAGE', image: 'registry.example/cache', tag: '7', registryId: null } as const;
    const cache = service({ name: 'cache', config: config({ source: image }) });
    await fixture.deploy([cache]);
    const view = await fixture.reaches(cache.serviceId, 'DEPLOYED');
    expect(view.deployedCommit).toBeNull();
    expect(view.steps?.details.map((step) => step.metric)).toContain('MIRROR_IMAGE');
    const pulls = fixture.fake.calls.filter((call) => call.method === 'pull').map((call) => call.detail);
    expect(pulls).toEqual(['registry.example/cache:7']);
    await finished(2, () => fixture.deploy([cache], { action: 'RESTART' }));
    expect(fixture.fake.calls.filter((call) => call.method === 'pull')).toHaveLength(1);
  });

  test('pulls an older image of the former host of a registry without the credentials of the new one', async () => {
    const registryId = randomUUID();
    const from = (host: string, tag: string) =>
      config({ source: { type: 'IMAGE', image: `${host}/cache`, tag, registryId } as const });
    fixture.registries.set(registryId, { username: 'ann', password: 'canary', hosts: ['old.example'] });
    const cache = service({ name: 'cache', config: from('old.example', '1') });
    await finished(1, () => fixture.deploy([cache]));
    const [entry] = await fixture.engine.port.serviceHistory(fixture.database.database, cache.serviceId, page);
    fixture.registries.set(registryId, { username: 'ann', password: 'other canary', hosts: ['new.example'] });
    await finished(2, () => fixture.deploy([{ ...cache, release: { config: from('new.example', '2'), commitId: null } }]));
    fixture.fake.images.clear();
    await finished(3, () => fixture.deploy([{ ...cache, release: { releaseId: entry?.releaseId ?? '' } }]));
    const sent = fixture.fake.pulls.map(({ reference, credentials }) => [
      reference.split('/')[0],
      credentials?.password.reveal() ?? null,
    ]);
    expect(sent).toEqual([
      ['old.example', 'canary'],
      ['new.example', 'other canary'],
      ['old.example', null],
    ]);
  });

  test('of an unchanged service builds nothing and keeps what runs', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const [before] = fixture.fake.instances;
    await finished(2, () => fixture.deploy([shop]));
    expect(fixture.fake.instances.map((instance) => instance.id)).toEqual([before?.id]);
    expect(fixture.fake.calls.filter((call) => call.method === 'build')).toHaveLength(1);
  });

  test('of a changed service replaces its instances and leaves none of the old', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const [before] = fixture.fake.instances;
    await finished(2, () => fixture.deploy([{ ...shop, release: { config: config({ memoryMiB: 256 }), commitId: null } }]));
    expect(fixture.fake.instances).toHaveLength(1);
    expect(fixture.fake.instances[0]?.id).not.toBe(before?.id);
    expect(fixture.fake.routes.http[0]?.backends[0]?.id).toBe(fixture.fake.instances[0]?.id);
  });

  test('that fails leaves the former release serving and says why', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const [before] = fixture.fake.instances;
    fixture.fake.script = {
      before: (call) => {
        if (call.method === 'awaitReady')
          throw new DriverError({ cause: 'PROCESS_EXITED', message: 'exit code 1', evidence: { lines: ['boom'] } });
      },
    };
    await fixture.deploy([{ ...shop, release: { config: config({ memoryMiB: 256 }), commitId: null } }]);
    const view = await fixture.reaches(shop.serviceId, 'DEPLOYMENT_ERROR');
    expect(view.failure).toMatchObject({ code: 'PROCESS_EXITED', evidence: { lines: ['boom'] } });
    expect(view.deployedConfigHash).toBe(fixture.engine.port.hash(configOf(shop)));
    expect(fixture.fake.instances.map((instance) => instance.id)).toEqual([before?.id]);
    expect(fixture.fake.routes.http[0]?.backends[0]?.id).toBe(before?.id);
  });

  test.each([
    [
      'and does not come back fails with how it ended',
      false,
      { message: 'exit code 7', evidence: { lines: ['the last words'] } },
    ],
    ['and comes back is deployed', true, null],
  ])('whose instance ends between readiness and routes %s', async (_what, comesBack, failure) => {
    const shop = service();
    let waits = 0;
    fixture.fake.script = {
      before: async (call) => {
        const [instance] = fixture.fake.instances;
        if (call.method === 'observe' && waits === 1 && instance !== undefined) fixture.fake.kill(instance.id, 7);
        if (call.method !== 'awaitReady') return;
        waits += 1;
        if (waits === 1 || instance === undefined) return;
        if (!comesBack)
          throw new DriverError({ cause: 'PROCESS_EXITED', message: 'exit code 7', evidence: { lines: ['the last words'] } });
        await fixture.fake.cluster.revive(instance.id, { signal: new AbortController().signal, log: () => undefined });
      },
    };
    await fixture.deploy([shop]);
    const view = await fixture.reaches(shop.serviceId, comesBack ? 'DEPLOYED' : 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ failure });
    const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, environmentOf(), null);
    expect(lines.map(({ message }) => message).join('\n')).toContain('1 of 1 instances ended after they had been ready');
  });

  test('stops the others of its stage when a build fails, and later stages do not run', async () => {
    const first = { id: randomUUID(), name: 'first', position: 0 };
    const bad = service({ name: 'bad', stage: first, config: config({ name: 'bad' }) });
    const other = service({ name: 'other', stage: first, config: config({ name: 'other' }) });
    const later = service({ name: 'later', config: config({ name: 'later' }) });
    fixture.fake.script = {
      before: async (call) => {
        if (call.method === 'build' && call.service === bad.serviceId)
          throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'exit 1' });
        if (call.method === 'build') await new Promise(() => undefined);
      },
    };
    await fixture.deploy([bad, other, later]);
    await fixture.reaches(bad.serviceId, 'BUILD_ERROR');
    await fixture.reaches(other.serviceId, 'CANCELED');
    await fixture.reaches(later.serviceId, 'CANCELED');
    expect(fixture.fake.instances).toHaveLength(0);
    const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, environmentOf(), null);
    const ends = lines.filter(({ step }) => step === 'end').map(({ message }) => message);
    expect(ends).toEqual(
      expect.arrayContaining(['bad: exit 1', 'other: canceled, as bad failed.', 'later: canceled, as bad failed.']),
    );
  });

  test('runs stages in their order and takes them down in reverse', async () => {
    const order: string[] = [];
    const a = service({ name: 'a', stage: { id: randomUUID(), name: 'one', position: 0 } });
    const b = service({ name: 'b', stage: { id: randomUUID(), name: 'two', position: 1 } });
    fixture.fake.script = {
      before: (call) => {
        if (call.method === 'start' || (call.method === 'retire' && call.detail === ''))
          order.push(`${call.method} ${call.service === a.serviceId ? 'a' : 'b'}`);
      },
    };
    await fixture.deploy([b, a]);
    await fixture.reaches(b.serviceId, 'DEPLOYED');
    await fixture.deploy([a, b], { action: 'STOP' });
    await fixture.reaches(a.serviceId, 'STOPPED');
    expect(order.filter((entry) => entry.startsWith('start'))).toEqual(['start a', 'start b']);
    expect(order.filter((entry) => entry.startsWith('retire')).slice(-2)).toEqual(['retire b', 'retire a']);
  });
});

describe('the queue', () => {
  test('runs one deployment of an environment at a time and merges those of the same user and action', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    fixture.fake.script = { before: (call) => (call.method === 'build' ? held : undefined) };
    const a = service({ name: 'a' });
    const b = service({ name: 'b' });
    const c = service({ name: 'c' });
    await fixture.deploy([a]);
    await fixture.reaches(a.serviceId, 'BUILDING');
    const second = await fixture.deploy([b]);
    const third = await fixture.deploy([c]);
    const other = await fixture.deploy([b], { trigger: { actor: 'another', triggeredBy: 'Another', origin: 'API' } });
    expect(third).toBe(second);
    expect(other).not.toBe(second);
    const waiting = await fixture.view(b.serviceId);
    expect(waiting).toMatchObject({ state: 'DEPLOYMENT_QUEUED', waitingRequestId: second, waitingRequests: 2 });
    release();
    await fixture.reaches(c.serviceId, 'DEPLOYED');
    await fixture.reaches(b.serviceId, 'DEPLOYED');
  });

  test('gives services that were asked for by separate calls a result of their own, and those of one call a common one', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const stage = (position: number): RequestedService['stage'] => ({ id: randomUUID(), name: `stage ${position}`, position });
    const blocker = service({ name: 'blocker' });
    const store = service({ name: 'store', stage: stage(0) });
    const page = service({ name: 'page', stage: stage(3) });
    const shop = service({ name: 'shop', stage: stage(3) });
    const beside = service({ name: 'beside', stage: stage(0) });
    fixture.fake.script = {
      before: async (call) => {
        if (call.method === 'build') await held;
        if (call.method === 'build' && call.service === store.serviceId)
          throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'exit 1' });
      },
    };
    await fixture.deploy([blocker]);
    await fixture.reaches(blocker.serviceId, 'BUILDING');
    const first = await fixture.deploy([store, page]);
    expect([await fixture.deploy([shop]), await fixture.deploy([beside])]).toEqual([first, first]);
    release();
    expect(await fixture.ends(first)).toBe('FAILED');
    await fixture.reaches(store.serviceId, 'BUILD_ERROR');
    await fixture.reaches(page.serviceId, 'CANCELED');
    await fixture.reaches(beside.serviceId, 'DEPLOYED');
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
  });

  test('gives a withdrawn request’s services their former state back', async () => {
    const shop = service();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const blocker = service({ name: 'blocker' });
    fixture.fake.script = { before: (call) => (call.method === 'build' ? held : undefined) };
    await fixture.deploy([blocker]);
    await fixture.reaches(blocker.serviceId, 'BUILDING');
    const waiting = await fixture.deploy([shop]);
    await fixture.engine.port.withdraw(waiting);
    expect((await fixture.view(shop.serviceId)).state).toBe('READY');
    await expect(fixture.engine.port.withdraw(waiting)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    release();
    const done = await fixture.reaches(blocker.serviceId, 'DEPLOYED');
    expect(done.waitingRequests).toBe(0);
  });
});

describe('cancel', () => {
  test.each(['build', 'awaitReady'])('in %s ends in CANCELED and leaves nothing of the new release', async (method) => {
    const shop = service();
    let begun = false;
    fixture.fake.script = {
      before: async (call) => {
        if (call.method !== method) return;
        begun = true;
        await new Promise(() => undefined);
      },
    };
    await fixture.deploy([shop]);
    await eventually(() => Promise.resolve(begun || undefined), method);
    await fixture.engine.port.cancel(environmentOf(), false);
    await fixture.reaches(shop.serviceId, 'CANCELED');
    expect(fixture.fake.instances).toHaveLength(0);
    await eventually(
      async () =>
        (await fixture.engine.port.environment(fixture.database.database, environmentOf())).last?.running === false
          ? true
          : undefined,
      'its end',
    );
    await expect(fixture.engine.port.cancel(environmentOf(), false)).rejects.toMatchObject({ code: 'NOTHING_TO_CANCEL' });
  });
});

describe('the keeper', () => {
  test('starts again what dies and takes it out of the gateway meanwhile', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const id = fixture.fake.instances[0]?.id ?? '';
    fixture.fake.kill(id, 1);
    await eventually(async () => (fixture.fake.instances[0]?.state === 'RUNNING' ? true : undefined), 'the revival');
    expect(fixture.fake.instances.map((instance) => instance.id)).toEqual([id]);
    await eventually(async () => (fixture.fake.routes.http[0]?.backends.length === 1 ? true : undefined), 'the route');
  });

  test('replaces what was removed, and lets the engine restart the replacement', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const id = fixture.fake.instances[0]?.id ?? '';
    await fixture.fake.cluster.retire({ service: shop.serviceId }, 1, {
      signal: new AbortController().signal,
      log: () => undefined,
    });
    const replacement = await eventually(
      () => Promise.resolve(fixture.fake.instances.find(({ needsRestartPolicy }) => needsRestartPolicy === undefined)),
      'an instance with a restart policy',
    );
    expect(replacement.id).not.toBe(id);
    expect(fixture.fake.instances).toEqual([replacement]);
  });

  test('removes what it saw, and nothing that a deployment has started since', async () => {
    const shop = service();
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const left = fixture.fake.workloads.get(fixture.fake.instances[0]?.id ?? '');
    if (left === undefined) throw new Error('nothing runs');
    await fixture.deploy([shop], { action: 'STOP' });
    await fixture.reaches(shop.serviceId, 'STOPPED');
    const held = Promise.withResolvers<void>();
    let holds = 0;
    const starts = (): number => fixture.fake.calls.filter(({ method }) => method === 'start').length;
    fixture.fake.script = {
      before: ({ method, service: of }) =>
        method === 'retire' && of === shop.serviceId && (holds += 1) === 1 ? held.promise : undefined,
    };
    const call = { signal: new AbortController().signal, log: (): void => undefined };
    await fixture.fake.cluster.start({ ...left, rollout: randomUUID() }, call);
    await eventually(() => Promise.resolve(holds > 0 || undefined), 'the keeper to remove what is left');
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const before = starts();
    held.resolve();
    await eventually(() => Promise.resolve(fixture.fake.instances.length === 1 || undefined), 'the removal');
    await eventually(
      async () => ((await fixture.view(shop.serviceId)).runningStatus === 'RUNNING' ? true : undefined),
      'its status',
    );
    expect(starts()).toBe(before);
    expect(fixture.fake.instances).toMatchObject([{ state: 'RUNNING' }]);
  });

  test('stores what instances print, redacted, and has it when they are gone', async () => {
    const secret = randomUUID();
    fixture.secrets.set(secret, 'canary-value');
    const shop = service({ config: config({ environment: [{ name: 'TOKEN', parts: [{ secret }] }] }) });
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const id = fixture.fake.instances[0]?.id ?? '';
    expect(fixture.fake.workloads.get(id)?.environment[0]?.value.reveal()).toBe('canary-value');
    fixture.fake.print(id, 'token is canary-value');
    fixture.fake.kill(id, 0);
    const lines = await eventually(async () => {
      const found = await fixture.engine.port.serviceLog(fixture.database.database, shop.serviceId, 10);
      // Davit's own observations of the exit are in the log too.
      const printed = found.filter(({ message }) => !message.startsWith('Davit: '));
      return printed.length > 0 ? printed : undefined;
    }, 'the line');
    expect(lines.map((line) => line.message)).toEqual(['token is [REDACTED]']);
  });
});

test('what a release has left that ran nothing goes too', async () => {
  const shop = service({ config: config({ instances: 0 }) });
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  const retired = (): number =>
    fixture.fake.calls.filter(({ method, service: id }) => method === 'retire' && id === shop.serviceId).length;
  const before = retired();
  await finished(2, () =>
    fixture.deploy([{ ...shop, release: { config: config({ instances: 0, memoryMiB: 256 }), commitId: null } }]),
  );
  await expect.poll(retired).toBeGreaterThan(before);
});

async function plannedFor(services: readonly RequestedService[]): Promise<readonly PlannedService[]> {
  const trigger = { actor: 'tester', triggeredBy: 'Tester', origin: 'API' } as const;
  const plan = await fixture.engine.port.plan({
    environment: fixture.environment,
    action: 'DEPLOY',
    wholeEnvironment: false,
    trigger,
    services,
  });
  return plan.stages.flatMap((stage) => stage.services);
}

test('the plan of an unchanged service with a volume promises no downtime, and that of a changed one says that there is some', async () => {
  const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
  const source = { type: 'IMAGE', image: 'registry.example/store', tag: '1', registryId: null } as const;
  const store = service({ config: config({ source, volumes }) });
  await fixture.deploy([store]);
  await fixture.reaches(store.serviceId, 'DEPLOYED');
  const [same] = await plannedFor([store]);
  expect(same).toMatchObject({ changes: [], expectedDowntime: false });
  expect(same?.notes.join(' ')).toContain('unless the tag now refers to another image');
  expect(same?.notes.join(' ')).not.toContain('built');
  const larger = { config: { ...configOf(store), memoryMiB: 256 }, commitId: null };
  const [changed] = await plannedFor([{ ...store, release: larger }]);
  expect(changed).toMatchObject({ changes: ['memory'], expectedDowntime: true });
});

describe('a rollback', () => {
  test('runs the very same image and configuration, whatever came after', async () => {
    const shop = service({ config: config({ environment: [{ name: 'COLOUR', parts: ['blue'] }] }) });
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const first = fixture.fake.workloads.get(fixture.fake.instances[0]?.id ?? '');
    const [entry] = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, page);
    for (const [index, colour] of ['green', 'red', 'black'].entries()) {
      fixture.fake.branches.set('main', String(index).repeat(40));
      const next = config({ environment: [{ name: 'COLOUR', parts: [colour] }] });
      await finished(index + 2, () => fixture.deploy([{ ...shop, release: { config: next, commitId: null } }]));
    }
    await finished(5, () => fixture.deploy([{ ...shop, release: { releaseId: entry?.releaseId ?? '' } }]));
    const again = fixture.fake.workloads.get(fixture.fake.instances[0]?.id ?? '');
    expect(again?.image).toBe(first?.image);
    expect(again?.environment.map((one) => one.value.reveal())).toEqual(first?.environment.map((one) => one.value.reveal()));
    expect(again?.release).toBe(entry?.releaseId);
  });

  test('has a plan that shows what it changes, and whether the service answers meanwhile', async () => {
    const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
    const blue = config({ environment: [{ name: 'COLOUR', parts: ['blue'] }] });
    const shop = service({ config: blue });
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    const [entry] = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, page);
    const green = config({ environment: [{ name: 'COLOUR', parts: ['green'] }], volumes });
    await finished(2, () => fixture.deploy([{ ...shop, release: { config: green, commitId: null } }]));
    const [planned] = await plannedFor([{ ...shop, release: { releaseId: entry?.releaseId ?? '' } }]);
    expect(planned).toMatchObject({
      changes: ['variables.COLOUR', 'volumes./data.id', 'volumes./data.size'],
      expectedDowntime: false,
    });
    const [current] = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, page);
    const [same] = await plannedFor([{ ...shop, release: { releaseId: current?.releaseId ?? '' } }]);
    expect(same).toMatchObject({ changes: [], expectedDowntime: false });
    expect(same?.notes.join(' ')).toContain('the running instances are kept.');
  });

  test('to a release that was never built is refused', async () => {
    const shop = service();
    fixture.fake.script = {
      before: (call) => {
        if (call.method === 'build') throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'exit 1' });
      },
    };
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'BUILD_ERROR');
    const [entry] = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, page);
    await expect(fixture.deploy([{ ...shop, release: { releaseId: entry?.releaseId ?? '' } }])).rejects.toMatchObject({
      code: 'RELEASE_NOT_USABLE',
    });
  });
});

describe('images of old releases', () => {
  test('go when they are older than those that are kept, and what is kept can be run again', async () => {
    await fixture.close();
    fixture = await createTestEngine({ keptReleases: 2 });
    const shop = service();
    const versions = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40));
    for (const [index, commit] of versions.entries()) {
      fixture.fake.branches.set('main', commit);
      // Instances that the engine refuses to remove now are removed at the next deployment.
      fixture.fake.script = {
        before: ({ method }) => {
          if (method === 'removeImages' && index === 2) throw new Error('in use');
        },
      };
      await finished(index + 1, () => fixture.deploy([shop]));
      expect(fixture.fake.images.size).toBe([1, 2, 3, 2][index]);
    }
    const history = await fixture.engine.port.serviceHistory(fixture.database.database, shop.serviceId, page);
    const [newest, former, , oldest] = history.map(({ releaseId }) => releaseId ?? '');
    await expect(fixture.deploy([{ ...shop, release: { releaseId: oldest ?? '' } }])).rejects.toMatchObject({
      code: 'RELEASE_NOT_USABLE',
      message: expect.stringContaining('older than the releases whose images are kept'),
    });
    await finished(5, () => fixture.deploy([{ ...shop, release: { releaseId: former ?? '' } }]));
    expect(fixture.fake.calls.filter(({ method }) => method === 'build')).toHaveLength(4);
    expect(fixture.fake.instances[0]?.release).toBe(former);
    await finished(6, () => fixture.deploy([{ ...shop, release: { releaseId: newest ?? '' } }]));
    expect(fixture.fake.images.size).toBe(2);
  });
});

describe('a restart of Davit', () => {
  test.each(['resolve', 'checkout', 'build', 'start', 'awaitReady'])(
    'in the middle of %s loses and doubles nothing',
    async (method) => {
      const shop = service();
      let hang = true;
      let begun = false;
      fixture.fake.script = {
        after: async (call) => {
          if (call.method !== method || !hang) return;
          begun = true;
          await new Promise(() => undefined);
        },
      };
      await fixture.deploy([shop]);
      await eventually(() => Promise.resolve(begun || undefined), method);
      hang = false;
      await fixture.restart();
      await fixture.reaches(shop.serviceId, 'DEPLOYED');
      expect(fixture.fake.instances).toHaveLength(1);
      const log = await fixture.engine.port.deploymentLog(fixture.database.database, environmentOf(), null);
      expect(log.lines.some((line) => line.message.includes('now resumes it'))).toBe(true);
    },
  );
});

test('a gateway that fails once is asked again, and the deployment succeeds', async () => {
  const shop = service();
  let failing = true;
  fixture.fake.script = {
    before: (call) => {
      if (call.method !== 'apply' || !failing) return;
      failing = false;
      throw new DriverError({ cause: 'GATEWAY_FAILED', message: 'the gateway is restarting', retryable: true });
    },
  };
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  expect(failing).toBe(false);
  await eventually(() => Promise.resolve(fixture.fake.routes.http[0]?.backends.length === 1 || undefined), 'the route');
});

test('a deletion removes what is on the cluster, tells the resources, and leaves no route', async () => {
  const shop = service({ config: config({ volumes: [{ id: 'data', mountPath: '/data', sizeGiB: 1 }] }) });
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  await fixture.deploy([{ ...shop, release: undefined }], { action: 'DELETE', wholeEnvironment: true });
  await eventually(() => Promise.resolve(fixture.deleted.includes(environmentOf()) || undefined), 'the deletion');
  expect(fixture.deleted).toContain(shop.serviceId);
  expect(fixture.fake.instances).toHaveLength(0);
  expect([...fixture.fake.volumes]).toEqual([]);
  expect(fixture.fake.routes.http).toHaveLength(0);
});

describe('the options of a release', () => {
  test('cap its build below what the installation allows, never above', async () => {
    const options = { build: { cpuMillicores: 700, memoryMiB: 8_192, withoutCache: true } } as const;
    const shop = service({ config: config({ options }) });
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    expect(fixture.fake.builds).toMatchObject([{ cpuMillicores: 700, memoryMiB: 512, withoutCache: true }]);
  });

  test('end a build that takes longer than they say', async () => {
    const shop = service({ config: config({ options: { build: { timeoutSeconds: 1 } } }) });
    fixture.fake.script = {
      before: (call) => (call.method === 'build' ? new Promise(() => undefined) : undefined),
    };
    await fixture.deploy([shop]);
    expect((await fixture.reaches(shop.serviceId, 'BUILD_ERROR')).failure?.code).toBe('STEP_TIMEOUT');
  });

  test('stop the running instances first where they say so, and reach instances and routes', async () => {
    const options = {
      recreate: true,
      terminationGraceSeconds: 3,
      readOnlyRootFilesystem: true,
      gateway: { http: { sticky: true }, grpc: { readTimeoutSeconds: 9 } },
    } as const;
    const shop = service({ config: config({ options }) });
    await fixture.deploy([shop]);
    await fixture.reaches(shop.serviceId, 'DEPLOYED');
    let seen = -1;
    fixture.fake.script = {
      before: (call) => {
        if (call.method === 'start') seen = fixture.fake.instances.length;
      },
    };
    await finished(2, () =>
      fixture.deploy([{ ...shop, release: { config: config({ options, memoryMiB: 256 }), commitId: null } }]),
    );
    expect(seen).toBe(0);
    const workload = fixture.fake.workloads.get(fixture.fake.instances[0]?.id ?? '');
    expect(workload).toMatchObject({ terminationGraceSeconds: 3, readOnlyRootFilesystem: true });
    expect(fixture.fake.routes.http).toMatchObject([{ options: { sticky: true } }]);
  });
});

test('a service with a volume stops before its next release starts, and comes back when that fails', async () => {
  const withVolume = config({ volumes: [{ id: 'data', mountPath: '/data', sizeGiB: 1 }] });
  const shop = service({ config: withVolume });
  await fixture.deploy([shop]);
  await fixture.reaches(shop.serviceId, 'DEPLOYED');
  const changed = { ...withVolume, memoryMiB: 256 };
  let seen = -1;
  let failing = true;
  fixture.fake.script = {
    before: (call) => {
      if (call.method !== 'start') return;
      if (seen < 0) seen = fixture.fake.instances.length;
      if (!failing) return;
      failing = false;
      throw new DriverError({ cause: 'START_FAILED', message: 'no such program' });
    },
  };
  await fixture.deploy([{ ...shop, release: { config: changed, commitId: null } }]);
  await fixture.reaches(shop.serviceId, 'DEPLOYMENT_ERROR');
  expect(seen).toBe(0);
  expect(fixture.fake.instances).toHaveLength(1);
  expect(fixture.fake.workloads.get(fixture.fake.instances[0]?.id ?? '')?.memoryMiB).toBe(128);
});

function environmentOf(): string {
  return fixture.environmentId;
}

/** Runs `action` and waits until that many deployments of the environment have ended. */
async function finished(count: number, action: () => Promise<unknown>): Promise<void> {
  await action();
  await eventually(async () => {
    const history = await fixture.engine.port.environmentHistory(fixture.database.database, environmentOf(), page);
    const ended = history.filter((one) => one.status !== 'RUNNING' && one.status !== 'QUEUED');
    return ended.length >= count ? true : undefined;
  }, `${count} ended deployments`);
  await formerGone(fixture.fake);
}
