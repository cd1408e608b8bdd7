import type { ServerResponse } from 'node:http';
import type { ContainerState } from 'kubernetes-types/core/v1.js';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BuildPod } from '../build/pod.ts';
import type { Api } from '../client/api.ts';
import { label } from '../names/labels.ts';
import { instanceName } from '../names/names.ts';
import { startTestApi } from '../testing/api-server.ts';
import { cluster, sampleWorkload } from '../testing/workloads.ts';
import { awaitStarted } from './progress.ts';

/* Nodes that join late and fail at first. */

let api: Api;
let close: () => void;
let watches: Partial<Record<'pods' | 'events', ServerResponse>>;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  watches = {};
  ({ api, close } = await startTestApi(({ url = '' }, response) => {
    if (!url.includes('watch=true')) {
      response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
      return;
    }
    watches[url.includes('/pods') ? 'pods' : 'events'] = response;
    response.writeHead(200).flushHeaders();
  }));
});
afterEach(() => {
  close();
  vi.useRealTimers();
});

const workload = sampleWorkload();
const name = instanceName(workload, 0);

function tell(list: 'pods' | 'events', object: object): void {
  watches[list]?.write(`${JSON.stringify({ type: 'ADDED', object })}\n`);
}

function tellPod(state: ContainerState): void {
  const status = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
  tell('pods', {
    metadata: { name: `${name}-x`, namespace: 'davit-a', uid: 'pod', labels: { [label.instance]: name } },
    status: { conditions: [], containerStatuses: [status] },
  });
}

/** Lets three minutes pass. Then a node accepts the pod and reports this reason. */
async function failAtFirst(reason: string): Promise<void> {
  await expect.poll(() => Object.keys(watches).length).toBe(2);
  vi.setSystemTime(Date.now() + 180_000);
  tellPod({ waiting: { reason: 'ContainerCreating' } });
  tell('events', {
    metadata: { uid: 'event' },
    involvedObject: { kind: 'Pod', name: `${name}-x`, uid: 'pod' },
    reason,
    message: 'not yet',
  });
}

/** Waits until the events have been received, so that a caller that does not continue to wait has given up. */
async function untilNoticed(waiting: Promise<unknown>): Promise<void> {
  const early = new Promise((resolve) => setTimeout(resolve, 200, 'it waits'));
  expect(await Promise.race([waiting.catch((error: unknown) => error), early])).toBe('it waits');
}

test('an instance is waited for on', async () => {
  const scope = { api, installation: workload.owner.installation, ...cluster } as unknown as Parameters<typeof awaitStarted>[0]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  const waiting = awaitStarted(scope, workload, { signal: new AbortController().signal, log: () => undefined });
  await failAtFirst('FailedMount');
  await untilNoticed(waiting);
  tellPod({ running: {} });
  await expect(waiting).resolves.toBeUndefined();
});

test('a build is waited for on', async () => {
  const build = new BuildPod({ api, installation: 'i' }, { namespace: 'builds', name });
  await failAtFirst('FailedCreatePodSandBox');
  await untilNoticed(build.begun);
  tellPod({ running: {} });
  expect(await build.begun).toMatchObject({ type: 'UP' });
  build.close();
});
