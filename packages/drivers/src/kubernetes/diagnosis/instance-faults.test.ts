import type { ContainerState, Event, Node, Pod } from 'kubernetes-types/core/v1.js';
import { afterEach, describe, expect, test } from 'vitest';
import type { DriverError } from '../../errors.ts';
import { label } from '../names/labels.ts';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { faultsOfInstances, unreadiness } from './instance-faults.ts';

/* Answers as the API server of Kubernetes 1.36 gives them for instances that do not serve. */

const started = '2026-01-01T00:00:00Z';
const now = Date.parse('2026-01-01T00:00:30Z');

interface Shape {
  readonly state?: ContainerState;
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[];
}

function pod(name: string, { state, conditions = [], ...status }: Shape): Pod {
  const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
  return {
    metadata: { name: `${name}-x`, namespace: 'davit-a', uid: `uid of ${name}`, labels: { [label.instance]: name } },
    spec: { nodeName: 'one', containers: [{ name: 'main', image: 'registry.example.org/shop:1' }] },
    status: { ...status, conditions: [...conditions], ...(state && { containerStatuses: [main] }) },
  };
}

const event = (name: string, reason: string, message: string, at = '2026-01-01T00:00:20Z'): Event => ({
  metadata: {},
  involvedObject: { kind: 'Pod', name: `${name}-x`, uid: `uid of ${name}` },
  reason,
  message,
  lastTimestamp: at,
});
const node = (status: string): Node => ({
  metadata: { name: 'one' },
  status: {
    conditions: [{ type: 'Ready', status, reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' }],
  },
});
const running: ContainerState = { running: { startedAt: started } };

let served: TestApi | null = null;
afterEach(() => {
  served?.close();
  served = null;
});

/** Number of events that the API has sent. */
let sentEvents = 0;

async function faults(
  answers: Readonly<Record<string, readonly object[] | number>>,
  ids = ['davit-a/shop-1-0', 'davit-a/shop-1-1'],
): Promise<ReadonlyMap<string, DriverError>> {
  sentEvents = 0;
  served?.close();
  served = await startTestApi((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost');
    const kind = pathname.split('/').at(-1) ?? '';
    const answer = answers[kind] ?? [];
    if (typeof answer === 'number') {
      response.statusCode = answer;
      response.end(JSON.stringify({ message: 'no' }));
      return;
    }
    const items = answer.filter((item) => kind !== 'events' || isSelected(item as Event, searchParams.get('fieldSelector'))); // oxlint-disable-line typescript/no-unsafe-type-assertion -- the test's own
    if (kind === 'events') sentEvents += items.length;
    response.end(JSON.stringify({ metadata: {}, items }));
  });
  return faultsOfInstances({ api: served.api, installation: 'i' }, ids, AbortSignal.timeout(20_000));
}

/** Selects as the API server does; null: everything. */
function isSelected({ involvedObject }: Event, selector: string | null): boolean {
  const [, field, operator, value] = /^involvedObject\.(uid|kind)(!?=)(.+)$/.exec(selector ?? '') ?? [];
  if (selector === null) return true;
  if (field === undefined) throw new Error(`the API server does not know the selector ${selector}`);
  return (Reflect.get(involvedObject, field) === value) === (operator === '=');
}

describe('of an instance that does not run, the cluster says', () => {
  const waiting = (reason: string, message: string): Shape => ({ state: { waiting: { reason, message } } });

  test('at once that its image cannot be pulled, whether or not the node will try again', async () => {
    const words = 'failed to resolve reference "registry.example.org/shop:1": dial tcp: connection refused';
    const found = await faults({
      pods: [pod('shop-1-0', waiting('ErrImagePull', words)), pod('shop-1-1', waiting('ImagePullBackOff', 'Back-off'))],
      events: [event('shop-1-1', 'Failed', 'registry.example.org/shop:1: not found')],
    });
    expect(found.get('davit-a/shop-1-0')).toMatchObject({ code: 'REGISTRY_UNREACHABLE', evidence: { original: words } });
    expect(found.get('davit-a/shop-1-1')?.message).toContain('The nodes cannot pull registry.example.org/shop:1');
    expect(found.get('davit-a/shop-1-1')).toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  test('that no node has room, and that a quota does not allow it', async () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes are available: 1 Insufficient memory.' }];
    const refusal: Event = {
      metadata: { creationTimestamp: new Date().toISOString() },
      involvedObject: { kind: 'ReplicaSet', name: 'shop-1-1-5d4' },
      reason: 'FailedCreate',
      message: 'pods "x" is forbidden: exceeded quota: tight',
    };
    const found = await faults({ pods: [pod('shop-1-0', { phase: 'Pending', conditions })], events: [refusal] });
    expect(found.get('davit-a/shop-1-0')).toMatchObject({ code: 'UNSCHEDULABLE' });
    expect(found.get('davit-a/shop-1-1')).toMatchObject({ code: 'QUOTA_EXCEEDED' });
  });

  test('the same beside thousands of events of others, which are not read for a few instances', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `shop-1-${index}`);
    const pods = names.map((name) => pod(name, waiting('ImagePullBackOff', 'Back-off')));
    const own = names.map((name) => event(name, 'Failed', 'registry.example.org/shop:1: not found'));
    const events = [...own, ...Array.from({ length: 2_000 }, (_, index) => event(`other-${index}`, 'Pulled', 'done'))];
    const few = names.slice(0, 2).map((name) => `davit-a/${name}`);
    const found = await faults({ pods, events }, few);
    expect([...found.values()].map(({ code }) => code)).toEqual(['IMAGE_NOT_FOUND', 'IMAGE_NOT_FOUND']);
    expect(sentEvents).toBe(2);
    const all = await faults(
      { pods, events },
      names.map((name) => `davit-a/${name}`),
    );
    expect([...all.values()].map(({ code }) => code)).toEqual(names.map(() => 'IMAGE_NOT_FOUND'));
  });

  test('that its node refused it', async () => {
    const refused = { phase: 'Failed', reason: 'OutOfmemory', message: 'Node did not have enough resource: memory' };
    expect((await faults({ pods: [pod('shop-1-0', refused)] })).get('davit-a/shop-1-0')).toMatchObject({ code: 'UNSCHEDULABLE' });
  });

  test('nothing while it is created, while it waits after an exit, and without the permission to read more', async () => {
    const crashed = { ...waiting('CrashLoopBackOff', 'back-off 10s'), phase: 'Running' };
    const one = pod('shop-1-0', crashed);
    const status = {
      ...one.status,
      containerStatuses: one.status?.containerStatuses?.map((main) => ({
        ...main,
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      })),
    };
    const found = await faults({
      pods: [{ ...one, status }, pod('shop-1-1', waiting('ContainerCreating', ''))],
      events: 403,
      nodes: 403,
    });
    expect(found.size).toBe(0);
  });

  test('nothing if it does not answer, so that nothing is concluded', async () => {
    await expect(faults({ pods: 500 })).rejects.toMatchObject({ code: 'ENGINE_FAILED', retryable: true });
  });
});

describe('of an instance that runs and gets no requests, the cluster says', () => {
  const ready = (status: string, lastTransitionTime?: string) => [{ type: 'Ready', status, lastTransitionTime }];
  const attempt = 'Readiness probe failed: HTTP probe failed with statuscode: 503';
  const told = (conditions: Shape['conditions'], events: readonly Event[] = [], nodes = [node('True')], at = now) =>
    unreadiness(pod('shop-1-0', { state: running, ...(conditions && { conditions }) }), { events, nodes, now: at });

  test('which attempts of its readiness probe have failed', () => {
    const before = event('shop-1-0', 'Unhealthy', 'Readiness probe failed: of its former process', '2025-12-31T23:59:00Z');
    const other = event('shop-1-0', 'Unhealthy', 'Liveness probe failed: no');
    const fault = told(ready('False', '2026-01-01T00:00:20Z'), [before, other, event('shop-1-0', 'Unhealthy', attempt)]);
    expect(fault).toMatchObject({
      code: 'PROBE_FAILED',
      message: expect.stringContaining('statuscode: 503'),
      evidence: { probe: [`2026-01-01T00:00:20.000Z: ${attempt}`] },
    });
  });

  test('that the probe fails, also if it no longer reports the attempts', () => {
    expect(told(ready('False', '2026-01-01T00:00:20Z'))).toMatchObject({ code: 'PROBE_FAILED' });
    expect(told(ready('False', started), [], [], now + 60_000)).toMatchObject({ code: 'PROBE_FAILED' });
  });

  test('that its node does not answer', () => {
    const fault = told(ready('False', '2026-01-01T00:00:20Z'), [], [node('Unknown')]);
    expect(fault).toMatchObject({ code: 'ENGINE_UNREACHABLE', message: expect.stringContaining('Kubelet stopped posting') });
  });

  test('nothing while it starts, and once it is ready', () => {
    expect(told(ready('False', started))).toBeNull();
    expect(told(ready('True', started), [event('shop-1-0', 'Unhealthy', attempt)])).toBeNull();
  });
});
