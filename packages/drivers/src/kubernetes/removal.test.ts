import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { KubernetesObject } from './client/api.ts';
import { label } from './names/labels.ts';
import { removeService, retire } from './removal.ts';
import { startTestApi, type TestApi } from './testing/api-server.ts';
import { cluster } from './testing/workloads.ts';

/*
 * Instances that are retired while the node of their pod does not respond. The pod stays, because nothing reports its
 * end.
 */

let testApi: TestApi;
let deleted: string[];
let lines: string[];
/** Objects of each list, by the last part of the list's path. */
let objects: Record<string, readonly (KubernetesObject & { readonly type?: string })[]>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  [deleted, lines, objects] = [[], [], {}];
  testApi = await startTestApi(({ method, url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'https://localhost');
    response.writeHead(200);
    if (method === 'DELETE') response.end(JSON.stringify({ deleted: deleted.push(pathname.replace(/^.*\/(\w+\/)/, '$1')) }));
    else if (searchParams.has('watch')) response.flushHeaders();
    else {
      const items = objects[pathname.slice(pathname.lastIndexOf('/') + 1)] ?? [];
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items }));
    }
  });
});
afterEach(() => {
  vi.useRealTimers();
  testApi.close();
});

const labels = { [label.installation]: 'i', [label.service]: 's', [label.rollout]: 'r', [label.instance]: 'shop-r-0' };
const values = { metadata: { name: 'values', namespace: 'davit-1', labels } };

/** Returns a pod whose end was due this many seconds ago. */
function leavingPod(secondsAgo: number, volumes: readonly object[] = []): KubernetesObject {
  const deletionTimestamp = new Date(Date.now() - secondsAgo * 1_000).toISOString();
  const metadata = { name: 'shop-r-0-x', namespace: 'davit-1', uid: 'one', labels, deletionTimestamp };
  const spec = { nodeName: 'node-7', containers: [], volumes };
  return { metadata, spec } as KubernetesObject;
}

function retired({ force, signal }: { readonly force?: AbortSignal; readonly signal: AbortSignal }): Promise<void> {
  const scope = { api: testApi.api, installation: 'i', ...cluster };
  const context = { signal, ...(force && { force }), log: (line: string) => void lines.push(line) };
  return retire(scope, { service: 's', rollout: 'r' }, 2, context);
}

/** Waits for the deletion of the pod, then lets so many seconds pass. */
async function pass(seconds: number): Promise<void> {
  await expect.poll(() => deleted).toEqual(['pods/shop-r-0-x']);
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
}

test('a pod that is there long after its end is told once, with its node, and waited for', async () => {
  objects = { pods: [leavingPod(31)] };
  const stop = new AbortController();
  const waiting = retired({ signal: stop.signal });
  await pass(10);
  expect(lines).toEqual([expect.stringMatching(/pod shop-r-0-x on the node node-7 should have ended/)]);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});

test('a pod that was to end a moment ago is waited for without a word', async () => {
  objects = { pods: [leavingPod(5)] };
  const stop = new AbortController();
  const waiting = retired({ signal: stop.signal });
  await pass(10);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(lines).toEqual([]);
});

test('a cancel with force ends the wait once the pods were told to go; their values go too', async () => {
  objects = { pods: [leavingPod(5)], secrets: [values] };
  const force = new AbortController();
  const waiting = retired({ signal: AbortSignal.timeout(20_000), force: force.signal });
  await pass(10);
  force.abort();
  await vi.advanceTimersByTimeAsync(1_000);
  await waiting;
  expect(new Set(deleted)).toEqual(new Set(['pods/shop-r-0-x', 'secrets/values']));
  expect(lines).toEqual(['Not waited for: pod shop-r-0-x on the node node-7, which should end.']);
});

test('a pod with a volume is waited for all the same, as what comes next would write to it as well', async () => {
  objects = { pods: [leavingPod(5, [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }])] };
  const stop = new AbortController();
  const waiting = retired({ signal: stop.signal, force: AbortSignal.abort() });
  await pass(10);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(lines).toEqual([]);
});

test('all of a service goes with it but what Helm knows of its release, whatever labels its users gave', async () => {
  const named = (name: string, type: string) => ({
    metadata: { name, namespace: 'davit-1', labels: { ...labels, owner: 'helm' } },
    type,
  });
  objects = { secrets: [named('own', 'Opaque'), named('release', 'helm.sh/release.v1')] };
  const scope = { api: testApi.api, installation: 'i', ...cluster };
  const context = { signal: AbortSignal.timeout(10_000), log: () => undefined };
  await removeService(scope, { environment: 'e', service: 's' }, context);
  expect(deleted).toEqual(['secrets/own']);
});
