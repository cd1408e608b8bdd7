import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Service } from 'kubernetes-types/core/v1.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Workload } from '../../workload.ts';
import type { KubernetesObject } from '../client/api.ts';
import { label } from '../names/labels.ts';
import { serviceObjectName } from '../names/names.ts';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { cluster, sampleWorkload } from '../testing/workloads.ts';
import { startWorkload } from './start.ts';

/*
 * Names of services, on a cluster that stores what it receives. Nothing waits for instances, because none are
 * requested.
 */

let testApi: TestApi;
let objects: Map<string, KubernetesObject & Service>;
let deleted: string[];
let lines: string[];
/** The objects that were read, in order. */
let looks: string[];

beforeEach(async () => {
  [objects, deleted, lines, looks] = [new Map(), [], [], []];
  testApi = await startTestApi((request, response) => void answer(request, response));
});
afterEach(() => testApi.close());

/** Works like an API server with server-side apply, deletions and lists by labels. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost');
  const say = (status: number, body: object): void => void response.writeHead(status).end(JSON.stringify(body));
  const sent = await text(request);
  const existing = objects.get(pathname);
  if (request.method === 'GET') looks.push(pathname);
  if (request.method === 'PATCH') {
    const body: KubernetesObject & Service = JSON.parse(sent);
    if (existing !== undefined && body.kind === 'Service' && isHeadless(existing) !== isHeadless(body)) {
      say(422, { message: 'spec.clusterIPs[0]: Invalid value: may not change once set', reason: 'Invalid' });
      return;
    }
    objects.set(pathname, body);
    say(200, body);
  } else if (request.method === 'DELETE') {
    objects.delete(pathname);
    if (pathname.includes('/services/')) deleted.push(pathname.slice(pathname.lastIndexOf('/') + 1));
    say(200, {});
  } else if (existing !== undefined) say(200, existing);
  else if (searchParams.has('labelSelector')) {
    say(200, { metadata: { resourceVersion: '1' }, items: listed(pathname, searchParams.get('labelSelector') ?? '') });
  } else say(404, {});
}

function listed(pathname: string, labelSelector: string): readonly KubernetesObject[] {
  const wanted = labelSelector.split(',').map((part) => part.split('='));
  const plural = pathname.slice(pathname.lastIndexOf('/') + 1);
  const isIn = (path: string): boolean =>
    pathname.includes('/namespaces/') ? path.startsWith(`${pathname}/`) : path.split('/').at(-2) === plural;
  return [...objects].flatMap(([path, object]) =>
    isIn(path) && wanted.every(([key = '', value]) => object.metadata?.labels?.[key] === value) ? [object] : [],
  );
}

function isHeadless({ spec }: Service): boolean {
  return spec?.clusterIP === 'None';
}

const other = { ...sampleWorkload().owner, service: 'a9f0a2c4-0000-4000-8000-0000000000ff' };
const { owner } = sampleWorkload();

async function start(changes: Partial<Workload>): Promise<void> {
  const scope = { api: testApi.api, installation: owner.installation, ...cluster };
  const context = { signal: AbortSignal.timeout(10_000), log: (line: string) => void lines.push(line) };
  await startWorkload(scope, sampleWorkload({ instances: 0, hostnames: ['api'], ...changes }), context);
}

function service(name: string): Service | undefined {
  return [...objects].find(([path]) => path.endsWith(`/services/${name}`))?.[1];
}

/** Returns the service and the rollout that a name leads to. */
function leadsTo(name: string): unknown[] {
  const { selector } = service(name)?.spec ?? {};
  expect(service(name)?.metadata?.labels?.[label.service]).toBe(selector?.[label.service]);
  return [selector?.[label.service], selector?.[label.rollout]];
}

describe('a name that a service has no longer, and another one has', () => {
  test.each<readonly [string, Partial<Workload>, Partial<Workload>]>([
    ['an address', {}, { ports: [] }],
    ['none', { ports: [] }, {}],
  ])('is taken by a deployment of that one also where it had %s', async (_what, before, after) => {
    await start({ owner: other, rollout: 'theirs', ...before });
    await start({ rollout: 'ours', takesNames: true, ...after });
    expect(deleted).toEqual(['api']);
    expect(leadsTo('api')).toEqual([owner.service, 'ours']);
    expect(isHeadless(service('api') ?? {})).toBe(after.ports !== undefined);
    expect(lines).toEqual([expect.stringContaining('The name api now leads to this service')]);
    // The other names of the other service stay its own.
    expect(leadsTo(serviceObjectName(other))).toEqual([other.service, 'theirs']);
  });

  test('has only the ports of the one that took it', async () => {
    await start({ owner: other, rollout: 'theirs' });
    await start({ rollout: 'ours', takesNames: true, ports: [{ id: 'web', internalPort: 80, protocol: 'HTTP' }] });
    expect(service('api')?.spec?.ports?.map(({ port }) => port)).toEqual([80]);
    expect(deleted).toEqual([]);
  });

  test.each([
    ['more instances', { firstInstance: 0 }],
    ['an instance that was missing', {}],
  ])('stays with that one when the former one gets %s', async (_what, changes) => {
    await start({ owner: other, rollout: 'theirs', hostnames: ['api', 'app-z1'] });
    await start({ rollout: 'ours', takesNames: true });
    lines = [];
    await start({ owner: other, rollout: 'theirs', hostnames: ['api', 'app-z1'], ...changes });
    expect(leadsTo('api')).toEqual([owner.service, 'ours']);
    expect(leadsTo('app-z1')).toEqual([other.service, 'theirs']);
    expect(lines).toEqual([expect.stringContaining('The name api now belongs to another service')]);
  });
});

test('a volume that is being removed is made anew when it is gone', async () => {
  const volumes = [{ id: 'storage', mountPath: '/data', sizeGiB: 1 }];
  await start({ volumes });
  const claims = () => [...objects].filter(([path]) => path.includes('/persistentvolumeclaims/'));
  const [[path, claim] = ['', {}]] = claims();
  objects.set(path, { ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
  const again = start({ volumes });
  await expect.poll(() => looks.filter((one) => one === path).length).toBeGreaterThan(3);
  objects.delete(path);
  await again;
  expect(claims()).toEqual([[path, claim]]);
});

test('a name that is free is had by whoever starts, deployed or not', async () => {
  await start({ rollout: 'ours' });
  expect(leadsTo('api')).toEqual([owner.service, 'ours']);
  expect(lines).toEqual([]);
});

test('names of other environments and installations are none of those of this one', async () => {
  const elsewhere = { ...other, environment: 'a9f0a2c4-0000-4000-8000-0000000000fe' };
  await start({ owner: elsewhere, rollout: 'theirs' });
  await start({ rollout: 'ours', ports: [] });
  expect(deleted).toEqual([]);
  expect(lines).toEqual([]);
});
