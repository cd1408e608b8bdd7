import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ContainerState, Pod } from 'kubernetes-types/core/v1.js';
import { afterEach, expect, test, vi } from 'vitest';
import type { LogLine, LogPosition } from '../../workload.ts';
import { label } from '../names/labels.ts';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { followLogs } from './logs.ts';

/* The log of an instance whose pods and containers replace each other. */

interface Printer {
  readonly uid: string;
  readonly state?: ContainerState;
  readonly restarts?: number;
  readonly isLeaving?: true;
  readonly labels?: Readonly<Record<string, string>>;
  /** Lines of each container, the newest container last. For the container that a node returns, see `nodeTells`. */
  readonly printed: readonly (readonly string[])[];
  /** The newest container keeps running. */
  readonly isOpen?: boolean;
  /** The node of this pod responds with this status. */
  status?: number;
}

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const waiting: ContainerState = { waiting: { reason: 'CrashLoopBackOff' } };
const second = (number: number): string => `2026-01-01T00:00:${String(number).padStart(2, '0')}`;
/** Returns a line of a log in the format of nodes. */
const line = (at: number, text: string, fraction = '000000000'): string => `${second(at)}.${fraction}Z ${text}`;
const timeOf = (at: number): string => `${second(at)}.000000000Z`;

let testApi: TestApi;
let pods: Printer[] = [];
let open: { readonly uid: string; readonly response: ServerResponse }[] = [];
let requested: string[] = [];
const stop = new AbortController();
afterEach(() => testApi.close());

function toPod({ uid, state = running, restarts = 0, isLeaving, labels = {} }: Printer, index: number): Pod {
  const time = `2026-01-01T00:0${index}:00Z`;
  const leaving = isLeaving === true && { deletionTimestamp: new Date(Date.now() + 10_000).toISOString() };
  const metadata = { name: `pod-${uid}`, namespace: 'n', uid, creationTimestamp: time, labels, ...leaving };
  const lastState = restarts > 0 ? { terminated: { exitCode: 1 } } : {};
  const status = { name: 'main', state, lastState, restartCount: restarts, image: '', imageID: '', ready: false };
  return { metadata, status: { containerStatuses: [status] } };
}

/**
 * Works like `validateContainerLogStatus` of the kubelet (Kubernetes 1.36): for a waiting container, the kubelet
 * returns the log of the previous one, whichever is requested.
 */
function nodeReports({ state = running, printed }: Printer, previous: boolean): readonly string[] | undefined {
  const ended = state.waiting === undefined ? -2 : -1;
  return printed.at(previous ? ended : -1);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost');
  if (!pathname.endsWith('/log')) {
    const items = searchParams.get('labelSelector')?.includes(label.schedule) === true ? [] : pods.map(toPod);
    return void response.end(JSON.stringify({ metadata: {}, items }));
  }
  const pod = pods.find(({ uid }) => pathname.includes(`/pod-${uid}/`));
  const previous = searchParams.has('previous');
  requested.push(`${pod?.uid}${previous ? ' previous' : ''}`);
  const lines = pod && nodeReports(pod, previous);
  const status = pod?.status ?? (lines === undefined ? 400 : 200);
  response.writeHead(status);
  if (pod === undefined || status !== 200) return void response.end(JSON.stringify({ message: 'no' }));
  const since = searchParams.get('sinceTime') ?? '';
  response.write(
    lines
      ?.filter((text) => text >= since.slice(0, 19))
      .map((text) => `${text}\n`)
      .join('') ?? '',
  );
  if (previous || pod.isOpen !== true) response.end();
  else open.push({ uid: pod.uid, response });
}

/** Follows the output of these pods, oldest first. */
async function follow(printers: readonly Printer[], position: LogPosition | null = null) {
  pods = [...printers];
  open = [];
  requested = [];
  testApi = await startTestApi(answer);
  const lines: LogLine[] = [];
  const sink = { onLine: (one: LogLine): void => void lines.push(one), signal: stop.signal };
  const done = followLogs({ api: testApi.api, installation: 'i' }, 'n/shop-0', position, sink);
  done.catch(() => undefined);
  const texts = (origin?: string): string[] =>
    lines.filter((one) => origin === undefined || one.origin === origin).map(({ text }) => text);
  return { done, texts };
}

/** Writes further output of a pod. `end` ends or breaks the output. */
const print = (uid: string, text: string): void => {
  for (const one of open) if (one.uid === uid) one.response.write(`${text}\n`);
};
const end = (uid: string, how: 'ends' | 'breaks' = 'ends'): void => {
  const mine = open.filter((one) => one.uid === uid);
  open = open.filter((one) => one.uid !== uid);
  for (const { response } of mine) void (how === 'ends' ? response.end() : response.destroy());
};

test('a pod that begins while the one before it still ends is told from its start, and the other one to its end', async () => {
  const a: Printer = { uid: 'a', isLeaving: true, isOpen: true, printed: [[line(0, 'start A'), line(5, 'stopping A')]] };
  const b: Printer = { uid: 'b', isOpen: true, printed: [[line(2, 'start B'), line(4, 'ready B')]] };
  const { done, texts } = await follow([a, b], { at: null, origins: { a: timeOf(5) } });
  await vi.waitFor(() => expect(texts('b')).toEqual(['start B', 'ready B']));
  await vi.waitFor(() => expect(open).toHaveLength(2));
  print('a', line(6, 'stop A'));
  end('a');
  await vi.waitFor(() => expect(texts('a')).toEqual(['stop A']));
  print('b', line(6, 'on B'));
  end('b');
  await done;
  expect(texts('b')).toEqual(['start B', 'ready B', 'on B']);
});

test('of what is not known which pod it is from nothing before it is told again, of any pod', async () => {
  const a: Printer = { uid: 'a', isLeaving: true, printed: [[line(0, 'start A'), line(4, 'stop A')]] };
  const b: Printer = { uid: 'b', printed: [[line(2, 'start B'), line(4, 'ready B')]] };
  const { done, texts } = await follow([a, b], { at: timeOf(3), origins: { b: timeOf(1), c: timeOf(9) } });
  await done;
  expect(texts().toSorted()).toEqual(['ready B', 'stop A']);
});

test('a pod whose node does not answer holds nothing up, and is asked again while it goes', async () => {
  const a: Printer = { uid: 'a', isLeaving: true, printed: [[line(0, 'start A')]], status: 502 };
  const b: Printer = { uid: 'b', isOpen: true, printed: [[line(2, 'start B')]] };
  const { done, texts } = await follow([a, b]);
  await vi.waitFor(() => expect(texts()).toEqual(['start B']));
  await vi.waitFor(() => expect(requested).toContain('a'));
  delete a.status;
  await vi.waitFor(() => expect(texts('a')).toEqual(['start A']), 10_000);
  end('b');
  await done;
}, 20_000);

test('when the newest can be read no further the others are not either', async () => {
  const a: Printer = { uid: 'a', isLeaving: true, isOpen: true, printed: [[line(0, 'start A')]] };
  const b: Printer = { uid: 'b', isOpen: true, printed: [[line(2, 'start B')]] };
  const { done, texts } = await follow([a, b]);
  await vi.waitFor(() => expect(texts()).toHaveLength(2));
  end('b', 'breaks');
  await expect(done).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
});

test('a pod that has ended and is not to go is not read beside the newest', async () => {
  const a: Printer = { uid: 'a', printed: [[line(0, 'evicted A')]] };
  const b: Printer = { uid: 'b', printed: [[line(2, 'start B')]] };
  const { done, texts } = await follow([a, b]);
  await done;
  expect(texts()).toEqual(['start B']);
});

test('attempts of a run that the cluster repeats are told one after the other, each after its own position', async () => {
  const labels = { [label.schedule]: 's' };
  const a: Printer = { uid: 'a', labels, printed: [[line(0, 'one'), line(1, 'two')]] };
  const b: Printer = { uid: 'b', labels, printed: [[line(1, 'three')]] };
  const { done, texts } = await follow([a, b], { at: null, origins: { a: timeOf(0) } });
  await done;
  expect(texts()).toEqual(['two', 'three']);
});

test('a run that has ended is not held up by an attempt of it on a node that is lost', async () => {
  const labels = { [label.schedule]: 's' };
  const a: Printer = { uid: 'a', labels, isLeaving: true, printed: [[line(0, 'one')]], status: 502 };
  const b: Printer = { uid: 'b', labels, printed: [[line(1, 'two')]] };
  const { done, texts } = await follow([a, b]);
  const began = performance.now();
  await done;
  // The pod ends in ten seconds and is read for half a minute more.
  expect(performance.now() - began).toBeLessThan(9_000);
  expect(texts()).toEqual(['two']);
}, 60_000);

test('the lines of a container that has crashed, and waits for its next start, are told once', async () => {
  // Two of the lines have the same time.
  const printed = [[line(0, 'start'), line(1, 'one'), line(1, 'two')]];
  const { done, texts } = await follow([{ uid: 'a', state: waiting, restarts: 1, printed }]);
  await done;
  expect(texts()).toEqual(['start', 'one', 'two']);
});

test('what the container before has printed comes before what the one prints that runs', async () => {
  const printed = [
    [line(0, 'first'), line(1, 'crash', '999999998')],
    [line(1, 'second', '999999999'), line(2, 'serves')],
  ];
  const { done, texts } = await follow([{ uid: 'a', restarts: 1, printed }], { at: null, origins: { a: timeOf(0) } });
  await done;
  expect(requested).toEqual(['a previous', 'a']);
  expect(texts()).toEqual(['crash', 'second', 'serves']);
});
