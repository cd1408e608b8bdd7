import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Action } from '../model.ts';
import type { RequestedService } from '../port.ts';
import { interruptAtPoints } from '../shared/crash-point.ts';
import { config } from '../testing/config.ts';
import { createMortal, type MortalEngine } from '../testing/crash/mortal-engine.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';
import { allKinds } from './index.ts';
import { createPageKind, type Shelf } from './testing/page-kind.ts';

/* Deploys a kind of service that the engine does not have. Nothing of the engine knows the kind but `kinds`. */

const shelf: Shelf = { pages: new Map(), announced: [], isFull: false };
let fixture: TestEngine;
/** The process that deploys. The engine of the world only serves its port. */
let server: MortalEngine;

beforeAll(async () => {
  const kinds = [...allKinds, createPageKind(shelf)] as const;
  fixture = await createTestEngine({ kinds, lookEveryMilliseconds: 50, firstRetryMilliseconds: 10 });
  await fixture.engine.stop();
  server = createMortal(fixture.input);
  await server.start();
});

afterAll(async () => {
  await server.stop();
  await fixture.close();
});

afterEach(() => {
  interruptAtPoints(null);
  shelf.isFull = false;
});

function page(text: string): RequestedService {
  const release = config({ source: { type: 'PAGE', text }, ports: [], instances: 0 });
  return service({ serviceType: 'PAGE', name: 'notice', config: release });
}

function withText(former: RequestedService, text: string): RequestedService {
  return { ...page(text), serviceId: former.serviceId };
}

async function outcomeOf(requested: RequestedService, action: Action = 'DEPLOY'): Promise<string> {
  const { release, ...plain } = requested;
  const needsRelease = action === 'DEPLOY' && release !== undefined;
  return fixture.ends(await fixture.deploy([needsRelease ? { ...plain, release } : plain], { action }));
}

/** Returns a page that is deployed. */
async function deployed(text: string): Promise<RequestedService> {
  const requested = page(text);
  expect(await outcomeOf(requested)).toBe('SUCCEEDED');
  return requested;
}

/** Kills the server once at this point, and starts another one. */
function killAt(point: string): { readonly isOver: Promise<void> } {
  const over = Promise.withResolvers<void>();
  let isKilled = false;
  interruptAtPoints(async (passed) => {
    if (passed !== point || isKilled) return;
    isKilled = true;
    const killed = server;
    killed.kill();
    // The killed server ends only after this point has thrown.
    void killed
      .stop()
      .then(() => {
        server = createMortal(fixture.input);
        return server.start();
      })
      .then(over.resolve, over.reject);
    throw new Error('this process was killed');
  });
  return { isOver: over.promise };
}

describe('a kind that is handed to the engine', () => {
  test('is planned and deployed by its own steps', async () => {
    const requested = page('hello');
    const { stages } = await fixture.engine.port.plan({
      environment: fixture.environment,
      action: 'DEPLOY',
      wholeEnvironment: false,
      trigger: { actor: 'tester', triggeredBy: 'Tester', origin: 'API' },
      services: [requested],
    });
    expect(stages[0]?.services[0]?.steps).toEqual(['put-page', 'announce']);
    expect(await outcomeOf(requested)).toBe('SUCCEEDED');
    expect(shelf.pages.get(requested.serviceId)).toBe('hello');
    // The second step reads what the first one recorded.
    expect(shelf.announced).toEqual(['hello, 5 characters']);
    expect(await fixture.view(requested.serviceId)).toMatchObject({ state: 'DEPLOYED', runningStatus: 'RUNNING' });
  });

  test('is undone when its deployment fails', async () => {
    const requested = await deployed('one');
    shelf.isFull = true;
    expect(await outcomeOf(withText(requested, 'two'))).toBe('FAILED');
    expect(shelf.pages.get(requested.serviceId)).toBe('one');
    expect(await fixture.view(requested.serviceId)).toMatchObject({
      state: 'DEPLOYMENT_ERROR',
      failure: { message: 'the shelf is full' },
    });
    const first = page('three');
    expect(await outcomeOf(first)).toBe('FAILED');
    expect(shelf.pages.has(first.serviceId)).toBe(false);
  });

  test('refuses what it cannot do', async () => {
    const requested = await deployed('calm');
    await expect(outcomeOf(requested, 'RESTART')).rejects.toMatchObject({
      code: 'NOT_SUPPORTED',
      message: 'notice is a page, and nothing of it runs.',
    });
  });

  test('is kept as it was deployed', async () => {
    const requested = await deployed('lasting');
    const other = service();
    expect(await outcomeOf(other)).toBe('SUCCEEDED');
    shelf.pages.delete(requested.serviceId);
    // An event of the cluster makes the keeper look.
    for (const { id } of fixture.fake.instances.filter((instance) => instance.service === other.serviceId))
      fixture.fake.kill(id, 1);
    await eventually(async () => shelf.pages.get(requested.serviceId), 'the page that was lost');
    expect(shelf.pages.get(requested.serviceId)).toBe('lasting');
  });

  test('is stopped, deployed again and deleted', async () => {
    const requested = await deployed('brief');
    expect(await outcomeOf(requested, 'STOP')).toBe('SUCCEEDED');
    expect(shelf.pages.has(requested.serviceId)).toBe(false);
    expect((await fixture.view(requested.serviceId)).state).toBe('STOPPED');
    expect(await outcomeOf(withText(requested, 'again'))).toBe('SUCCEEDED');
    expect(await outcomeOf(requested, 'DELETE')).toBe('SUCCEEDED');
    expect(shelf.pages.has(requested.serviceId)).toBe(false);
    expect(fixture.deleted).toContain(requested.serviceId);
    expect(await fixture.engine.port.isKnown(fixture.database.database, requested.serviceId)).toBe(false);
  });
});

describe('a server that is killed in the middle of a new kind', () => {
  const steps = ['put-page', 'announce'].flatMap((step) => ['before', 'after', 'recorded'].map((moment) => `${step}:${moment}`));

  test.each([...steps, 'finish:before', 'finish:after'])('at %s: the next server deploys it', async (point) => {
    const requested = await deployed('former');
    const { isOver } = killAt(point);
    expect(await outcomeOf(withText(requested, point))).toBe('SUCCEEDED');
    await isOver;
    expect(shelf.pages.get(requested.serviceId)).toBe(point);
    expect((await fixture.view(requested.serviceId)).state).toBe('DEPLOYED');
  });

  test.each(['undo-put-page:before', 'undo-put-page:after'])('at %s: the next server undoes it', async (point) => {
    const requested = await deployed('former');
    shelf.isFull = true;
    const { isOver } = killAt(point);
    expect(await outcomeOf(withText(requested, point))).toBe('FAILED');
    await isOver;
    expect(shelf.pages.get(requested.serviceId)).toBe('former');
  });

  test.each(['take-page:before', 'take-page:after', 'remove:after'])('at %s: the next server deletes it', async (point) => {
    const requested = await deployed('former');
    const { isOver } = killAt(point);
    expect(await outcomeOf(requested, 'DELETE')).toBe('SUCCEEDED');
    await isOver;
    expect(shelf.pages.has(requested.serviceId)).toBe(false);
    expect(fixture.deleted).toContain(requested.serviceId);
  });
});
