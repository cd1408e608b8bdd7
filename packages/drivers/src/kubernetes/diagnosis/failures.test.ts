import type { Pod } from 'kubernetes-types/core/v1.js';
import { afterEach, expect, test, vi } from 'vitest';
import { startTestApi } from '../testing/api-server.ts';
import { sampleWorkload } from '../testing/workloads.ts';
import { explain, type Suspicion } from './failures.ts';
import { evidenceMilliseconds } from './logs.ts';

/* Failures of an instance whose node the API server does not reach. */

const pod: Pod = {
  metadata: { name: 'web-1-0-x', namespace: 'davit-a' },
  status: {
    containerStatuses: [{ name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state: { running: {} } }],
  },
};
const unready: Suspicion = { type: 'UNREADY', pod, events: [] };

const closers: (() => void)[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  closers.splice(0).forEach((close) => close());
});

/** Starts an API server that does not respond to requests for logs or commands. */
async function dialling(): Promise<{
  readonly explained: (signal: AbortSignal) => Promise<Error>;
  readonly requested: string[];
}> {
  const requested: string[] = [];
  const { api, close } = await startTestApi(({ url = '' }) => requested.push(url.replace(/^.*\/|\?.*$/g, '')));
  closers.push(close);
  return { explained: (signal) => explain({ api, installation: '' }, sampleWorkload(), unready, signal), requested };
}

test('why it failed is said in time, without what the node could tell', async () => {
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const limits: number[] = [];
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    limits.push(milliseconds);
    return timeout(200);
  });
  const { explained, requested } = await dialling();
  expect(await explained(new AbortController().signal)).toMatchObject({ code: 'PROBE_FAILED', evidence: { lines: [] } });
  expect(requested.toSorted()).toEqual(['exec', 'log']);
  // Both requests run at the same time, so the total is no longer than one limit.
  expect(limits).toEqual([evidenceMilliseconds, evidenceMilliseconds]);
});

test('nothing is said to who no longer waits for it', async () => {
  const { explained, requested } = await dialling();
  const canceled = new AbortController();
  const explaining = explained(canceled.signal);
  void explaining.catch(() => undefined);
  await expect.poll(() => requested.length).toBe(2);
  canceled.abort(new Error('canceled'));
  await expect(explaining).rejects.toThrow('canceled');
});

test('an image whose user is a name is not said to run as root, and its number is asked for', async () => {
  const { api, close } = await startTestApi(() => undefined);
  closers.push(close);
  const explained = (words: string): Promise<Error> => {
    const refused: Suspicion = { type: 'UNSTARTABLE', reason: 'CreateContainerConfigError', words };
    return explain({ api, installation: '' }, sampleWorkload(), refused, new AbortController().signal);
  };
  // The messages are those of the kubelet.
  const named = 'container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root';
  const shown = await explained(named);
  expect(shown).toMatchObject({ code: 'RUN_AS_ROOT', evidence: { original: named } });
  expect(shown).toMatchObject({ hint: expect.stringMatching(/`id -u nobody`.*`USER 65534`/) });
  expect(shown).toMatchObject({ hint: expect.not.stringContaining('runs as root') });
  const root = await explained('container has runAsNonRoot and image will run as root');
  expect(root).toMatchObject({ code: 'RUN_AS_ROOT', hint: expect.stringContaining('The image runs as root') });
});
