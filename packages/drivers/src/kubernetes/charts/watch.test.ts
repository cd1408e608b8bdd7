import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@davit/testkit/certificate';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DriverError } from '../../errors.ts';
import type { ChartObject, ChartRef } from '../../helm-driver.ts';
import { closeApi, openApi, type Api } from '../client/api.ts';
import { evidenceMilliseconds } from '../diagnosis/logs.ts';
import { whileWatched } from './watch.ts';

/** An API server with one list of pods and one of events. */
let server: Server;
let api: Api;
let pods: object[];
/** Statuses that the lists and the version return in place of 200. */
let answers: Partial<Record<'pods' | 'events' | 'version', number>>;
let watches: ServerResponse[];
let lists: number;
let refusals: number;

beforeEach(async () => {
  [pods, answers, watches, lists, refusals] = [[], {}, [], 0, 0];
  const { pem } = await testCertificate('localhost');
  server = createServer({ cert: pem, key: pem }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost');
    // The node does not respond.
    if (pathname.endsWith('/log')) return;
    const what = (['pods', 'events'] as const).find((one) => pathname.endsWith(one)) ?? 'version';
    const status = answers[what] ?? 200;
    if (status !== 200) {
      refusals += 1;
      response.writeHead(status).end();
    } else if (searchParams.has('watch')) {
      watches.push(response);
      response.writeHead(200).flushHeaders();
    } else {
      lists += 1;
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: what === 'pods' ? pods : [] }));
    }
  }).listen(0);
  await once(server, 'listening');
  api = openApi({ server: `https://localhost:${(server.address() as AddressInfo).port}`, isUnchecked: true }); // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on a port
});
afterEach(() => {
  vi.restoreAllMocks();
  closeApi(api);
  server.closeAllConnections();
  server.close();
});

const failed = new DriverError({ cause: 'HELM_FAILED', message: 'helm upgrade failed: timed out' });
const web: ChartObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: null, saysScale: false };

function watched(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const owner = { installation: 'i', organization: 'o', project: 'p', environment: 'e', service: 's' };
  const chart: ChartRef = { owner, release: 'helm-z1' };
  const scope = { api, installation: 'i' } as unknown as Parameters<typeof whileWatched>[0]; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  const context = { signal: new AbortController().signal, log: () => undefined };
  return whileWatched(scope, { chart, objects: [web], work }, context);
}

const unready = {
  metadata: {
    name: 'web-5f-abc',
    uid: 'one',
    labels: { 'pod-template-hash': '5f' },
    creationTimestamp: new Date(Date.now() + 60_000).toISOString(),
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5f', uid: 'u' }],
  },
  spec: { containers: [{ name: 'app', image: 'registry.example/web:1' }] },
  status: {
    containerStatuses: [
      { name: 'app', ready: false, restartCount: 0, state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } },
    ],
  },
};

test('the work begins where a list cannot be read, and its own failure stays', async () => {
  answers.pods = 500;
  let hasBegun = false;
  const work = async (): Promise<void> => {
    hasBegun = true;
    return Promise.reject(failed);
  };
  await expect(watched(work)).rejects.toBe(failed);
  expect(hasBegun).toBe(true);
});

test('a list that could not be read is read again, and what is in it then ends the work', async () => {
  answers.pods = 500;
  const work = async (signal: AbortSignal): Promise<void> => {
    pods = [unready];
    delete answers.pods;
    await once(signal, 'abort');
    throw failed;
  };
  await expect(watched(work)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
});

function tellPod(pod: object): void {
  const watch = watches.find(({ req }) => req.url?.includes('/pods') === true);
  watch?.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
}

function cutAll(): void {
  for (const watch of watches.splice(0)) watch.destroy();
}

test('a watch that can no longer be had is taken up again with its list, and nothing is said of old pods meanwhile', async () => {
  const work = async (): Promise<void> => {
    await expect.poll(() => watches.length).toBe(2);
    const before = lists;
    Object.assign(answers, { pods: 403, events: 403 });
    tellPod({ ...unready, status: {} });
    cutAll();
    await expect.poll(() => refusals, { timeout: 10_000 }).toBe(2);
    answers = {};
    await expect.poll(() => lists, { timeout: 10_000 }).toBe(before + 2);
    await expect.poll(() => watches.length).toBe(2);
    throw failed;
  };
  // The new list contains no pod.
  await expect(watched(work)).rejects.toBe(failed);
});

test('a watch that was cut goes on, and what it tells then ends the work', async () => {
  const work = async (signal: AbortSignal): Promise<void> => {
    await expect.poll(() => watches.length).toBe(2);
    const before = lists;
    cutAll();
    await expect.poll(() => watches.length).toBe(2);
    expect(lists).toBe(before);
    tellPod(unready);
    await once(signal, 'abort');
    throw failed;
  };
  await expect(watched(work)).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' });
});

test.each([503, 'gone'] as const)(
  'an API server that went away is the failure, not what was known of the pods: %s',
  async (how) => {
    const work = async (): Promise<void> => {
      await expect.poll(() => watches.length).toBe(2);
      const [watch] = watches;
      watch?.write(`${JSON.stringify({ type: 'ADDED', object: { ...unready, status: { containerStatuses: [] } } })}\n`);
      if (how === 'gone') {
        server.closeAllConnections();
        server.close();
      } else answers.version = 503;
      return Promise.reject(failed);
    };
    await expect(watched(work)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
  },
);

test('a node that does not answer takes nothing from what is known', async () => {
  const quick = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) =>
    quick(milliseconds === evidenceMilliseconds ? 20 : milliseconds),
  );
  const crashing = { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 3 } } };
  const work = async (signal: AbortSignal): Promise<void> => {
    await expect.poll(() => watches.length).toBe(2);
    tellPod({ ...unready, status: { containerStatuses: [{ name: 'app', ready: false, restartCount: 5, ...crashing }] } });
    await once(signal, 'abort');
    throw failed;
  };
  await expect(watched(work)).rejects.toMatchObject({ code: 'PROCESS_EXITED' });
});

test('what Helm itself failed for is said behind why a pod is not ready', async () => {
  answers.pods = 500;
  const quick = AbortSignal.timeout.bind(AbortSignal);
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) =>
    quick(milliseconds === evidenceMilliseconds ? 20 : milliseconds),
  );
  const ended = { name: 'app', ready: false, restartCount: 1, state: { terminated: { exitCode: 3 } } };
  const work = async (): Promise<void> => {
    pods = [{ ...unready, status: { containerStatuses: [ended] } }];
    delete answers.pods;
    // The content of the list is known before it is watched.
    await expect.poll(() => watches.length, { timeout: 10_000 }).toBe(2);
    throw failed;
  };
  await expect(watched(work)).rejects.toMatchObject({
    code: 'PROCESS_EXITED',
    message: expect.stringMatching(/^Deployment web, pod web-5f-abc: The process exited .* helm upgrade failed: timed out$/),
  });
});
