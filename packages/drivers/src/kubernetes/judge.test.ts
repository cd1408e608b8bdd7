import type { ContainerState, Event, Pod } from 'kubernetes-types/core/v1.js';
import { describe, expect, test } from 'vitest';
import { isAtLeast } from './describe.ts';
import { exitCodeOf } from './exec.ts';
import { gather, toInstance } from './instances.ts';
import { imageFault, judgeReady, judgeStart, type Seen } from './judge.ts';
import { label } from './labels.ts';
import { toNumber } from './quantity.ts';
import { meaningOf, translated } from './refusals.ts';
import { ApiRefusal } from './api.ts';
import { sampleWorkload } from './testing/workloads.ts';
import { eventsOf } from './watch.ts';

interface PodInput {
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly restartCount?: number;
  readonly ready?: boolean;
  readonly unscheduled?: string;
}

function pod({ state, lastState, restartCount = 0, ready = false, unscheduled }: PodInput = {}): Pod {
  const conditions = [
    { type: 'Ready', status: ready ? 'True' : 'False' },
    ...(unscheduled === undefined ? [] : [{ type: 'PodScheduled', status: 'False', message: unscheduled }]),
  ];
  const status = { name: 'main', image: '', imageID: '', ready, restartCount, state, lastState };
  return {
    metadata: { name: 'web-1-0-x', namespace: 'davit-a', uid: '1', labels: { [label.instance]: 'web-1-0' } },
    status: { conditions, podIP: '10.0.0.7', ...(state && { containerStatuses: [status] }) },
  };
}

const event = (reason: string, message: string): Event => ({
  metadata: {},
  involvedObject: { name: 'web-1-0' },
  reason,
  message,
});
const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended = (exitCode: number, reason = 'Error'): ContainerState => ({
  terminated: { exitCode, reason, startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:01Z' },
});
const waiting = (reason: string, message = ''): ContainerState => ({ waiting: { reason, message } });

const seen = (one: Pod | null, changes: Partial<Seen> = {}): Seen => ({
  name: 'web-1-0',
  pod: one,
  events: [],
  began: 0,
  now: 1_000,
  ...changes,
});
const late = { now: 3_600_000 };
const start = (one: Pod | null, changes?: Partial<Seen>) => judgeStart(sampleWorkload(), seen(one, changes));
const ready = (one: Pod | null, changes?: Partial<Seen>) => judgeReady(sampleWorkload(), seen(one, changes));

describe('an instance has been started', () => {
  test('once its process runs or has ended', () => {
    expect(start(pod({ state: running })).type).toBe('DONE');
    expect(start(pod({ state: ended(3) })).type).toBe('DONE');
    expect(start(pod({ state: waiting('CrashLoopBackOff'), lastState: ended(3) })).type).toBe('DONE');
    expect(start(null).type).toBe('WAIT');
    expect(start(pod({ state: waiting('ContainerCreating') })).type).toBe('WAIT');
  });

  test('never when the program could not be', () => {
    const refused = start(pod({ state: ended(128, 'StartError') }));
    expect(refused).toMatchObject({ type: 'FAILED', suspicion: { type: 'UNSTARTABLE' } });
    const asRoot = start(pod({ state: waiting('CreateContainerConfigError', 'container has runAsNonRoot') }));
    expect(asRoot).toMatchObject({ type: 'FAILED', suspicion: { words: 'container has runAsNonRoot' } });
    const busy = pod({ state: waiting('CreateContainerError', 'context deadline exceeded') });
    expect(start(busy)).toEqual({ type: 'WAIT', againAt: 10_000 });
    expect(start(busy, late)).toMatchObject({ type: 'FAILED' });
  });

  test('never when a policy refuses its pod, and after a while when a quota does', () => {
    const policy = { events: [event('FailedCreate', 'pods "x" is forbidden: violates PodSecurity "restricted"')] };
    expect(start(null, policy)).toMatchObject({ type: 'FAILED', suspicion: { type: 'REFUSED' } });
    const quota = { events: [event('FailedCreate', 'pods "x" is forbidden: exceeded quota: tight')] };
    expect(start(null, quota)).toEqual({ type: 'WAIT', againAt: 10_000 });
    expect(start(null, { ...quota, ...late })).toMatchObject({ type: 'FAILED' });
  });

  test('never when no node takes it, later where the cluster grows', () => {
    const unscheduled = pod({ unscheduled: '0/1 nodes are available: 1 Insufficient memory.' });
    expect(start(unscheduled)).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(unscheduled, { now: 61_000 })).toMatchObject({ suspicion: { type: 'UNSCHEDULED' } });
    const grows = { now: 61_000, events: [event('TriggeredScaleUp', 'one more node')] };
    expect(start(unscheduled, grows)).toEqual({ type: 'WAIT', againAt: 600_000 });
  });

  test('never when its volume does not come', () => {
    const changes = { events: [event('FailedAttachVolume', 'no such disk')] };
    expect(start(pod({ state: waiting('ContainerCreating') }), changes).type).toBe('WAIT');
    const suspicion = { type: 'VOLUME', words: 'no such disk' };
    expect(start(pod({ state: waiting('ContainerCreating') }), { ...changes, ...late })).toEqual({ type: 'FAILED', suspicion });
    const pulls = { events: [...changes.events, event('Pulling', 'a large image')], ...late };
    expect(start(pod({ state: waiting('ContainerCreating') }), pulls)).toEqual({ type: 'WAIT', againAt: Infinity });
  });

  test('never when the registry does not have its image, and a registry that does not answer is asked again first', () => {
    const missing = start(pod({ state: waiting('ErrImagePull', 'registry.example.org/a:b: not found') }));
    expect(missing).toMatchObject({ type: 'FAILED', suspicion: { type: 'IMAGE', fault: 'NOT_FOUND' } });
    const away = pod({ state: waiting('ErrImagePull', 'dial tcp: connection refused') });
    expect(start(away)).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(away, late)).toMatchObject({ suspicion: { fault: 'UNREACHABLE' } });
    // Between two attempts only the warning of the last one tells why.
    const backingOff = pod({ state: waiting('ImagePullBackOff', 'Back-off pulling image "a:b"') });
    const told = { events: [event('Failed', 'Failed to pull image "a:b": unauthorized')] };
    expect(start(backingOff, told)).toMatchObject({ suspicion: { fault: 'DENIED' } });
  });
});

test('what nodes say of an image is told apart', () => {
  const words: readonly [string, ReturnType<typeof imageFault>][] = [
    ['failed to resolve reference "r.io/a:b": r.io/a:b: not found', 'NOT_FOUND'],
    ['manifest unknown', 'NOT_FOUND'],
    ['pull access denied, repository does not exist or may require authorization', 'DENIED'],
    ['unexpected status from HEAD request: 401 Unauthorized', 'DENIED'],
    ['dial tcp: lookup registry.example.org: no such host', 'UNREACHABLE'],
    ['tls: failed to verify certificate: x509: unknown authority', 'UNREACHABLE'],
    ['unexpected status code 503 Service Unavailable', 'UNREACHABLE'],
    ['ErrImageNeverPull', 'MISSING'],
    ['Back-off pulling image "a:b"', null],
  ];
  for (const [said, fault] of words) expect([said, imageFault(said)]).toEqual([said, fault]);
});

describe('an instance is ready', () => {
  test('when the kubelet says so, and without ports and probe after a second', () => {
    expect(ready(pod({ state: running, ready: true })).type).toBe('DONE');
    expect(ready(pod({ state: running, lastState: ended(137, 'OOMKilled'), restartCount: 9, ready: true })).type).toBe('DONE');
    expect(ready(pod({ state: running }))).toEqual({ type: 'WAIT', againAt: 60_000 });
    const plain = sampleWorkload({ ports: [], readiness: null });
    const began = Date.parse('2026-01-01T00:00:00Z');
    const one = pod({ state: running, ready: true });
    expect(judgeReady(plain, seen(one, { began, now: began + 1_500 }))).toEqual({ type: 'WAIT', againAt: began + 2_000 });
    expect(judgeReady(plain, seen(one, { began, now: began + 2_000 })).type).toBe('DONE');
  });

  test('not after it has ended three times, or for its memory once, or not in time', () => {
    const crashing = { state: waiting('CrashLoopBackOff'), lastState: ended(1) };
    expect(ready(pod({ ...crashing, restartCount: 1 })).type).toBe('WAIT');
    expect(ready(pod({ ...crashing, restartCount: 2 }))).toMatchObject({ suspicion: { type: 'ENDED' } });
    expect(ready(pod({ state: ended(137, 'OOMKilled') }))).toMatchObject({ suspicion: { type: 'ENDED' } });
    expect(ready(pod({ state: running }), late)).toMatchObject({ suspicion: { type: 'UNREADY' } });
    expect(ready(pod({ state: running, lastState: ended(1), restartCount: 1 }), late)).toMatchObject({
      suspicion: { type: 'ENDED' },
    });
  });
});

describe('an instance is shown', () => {
  const controller = {
    kind: 'Job',
    metadata: { name: 'web-1-0', namespace: 'davit-a', labels: { [label.instance]: 'web-1-0' } },
  };
  const show = (...pods: Pod[]) => gather([controller], pods).map(toInstance);

  test('as created, running or ended, by its newest pod that stays', () => {
    expect(show()).toMatchObject([{ id: 'davit-a/web-1-0', state: 'CREATED', startedAt: null, exit: null }]);
    expect(show(pod({ state: running }))).toMatchObject([{ state: 'RUNNING' }]);
    expect(show(pod({ state: ended(3) }))).toMatchObject([{ state: 'EXITED', exit: { code: 3, outOfMemory: false } }]);
    const leaving = pod({ state: running });
    const gone = { ...leaving, metadata: { ...leaving.metadata, uid: '2', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(show(gone, pod({ state: waiting('ContainerCreating') }))).toMatchObject([{ state: 'CREATED' }]);
  });

  test('as ended where only its Job remembers it', () => {
    const status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    expect(gather([{ ...controller, status } as object], []).map(toInstance)).toMatchObject([
      { state: 'EXITED', exit: { code: 255 } },
    ]);
  });

  test('as long as a pod of it is there, also without what made it', () => {
    expect(gather([], [pod({ state: running })]).map(({ id }) => id)).toEqual(['davit-a/web-1-0']);
    const leaving = { ...controller, metadata: { ...controller.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(gather([leaving], [])).toEqual([]);
  });
});

test('changes of a pod are told as starts, ends and removals', () => {
  const before = { startedAt: '2026-01-01T00:00:00Z', isRunning: true };
  const again: ContainerState = { running: { startedAt: '2026-01-01T00:00:09Z' } };
  expect(eventsOf({ type: 'MODIFIED', object: pod({ state: running }) }, undefined)).toEqual(['STARTED']);
  expect(eventsOf({ type: 'MODIFIED', object: pod({ state: running }) }, before)).toEqual([]);
  expect(eventsOf({ type: 'MODIFIED', object: pod({ state: ended(1) }) }, before)).toEqual(['DIED']);
  expect(eventsOf({ type: 'MODIFIED', object: pod({ state: again }) }, before)).toEqual(['DIED', 'STARTED']);
  expect(eventsOf({ type: 'DELETED', object: pod() }, before)).toEqual(['DIED', 'REMOVED']);
});

test('refusals have causes, and say whether trying again may help', () => {
  const cause = (status: number, words: string) => {
    const error = translated(new ApiRefusal({ method: 'GET', path: '/' }, status, words), 'It failed');
    return error instanceof Error && 'code' in error && 'retryable' in error ? [error.code, error.retryable] : error;
  };
  expect(cause(403, 'secrets is forbidden: User "x" cannot list resource')).toEqual(['CLUSTER_ACCESS_DENIED', false]);
  expect(cause(401, 'Unauthorized')).toEqual(['CLUSTER_ACCESS_DENIED', false]);
  expect(cause(403, 'pods "x" is forbidden: exceeded quota: tight')).toEqual(['QUOTA_EXCEEDED', false]);
  expect(cause(403, 'admission webhook "x" denied the request: no')).toEqual(['ADMISSION_REFUSED', false]);
  expect(cause(403, 'unable to create new content because it is being terminated')).toEqual(['ENGINE_FAILED', true]);
  expect(cause(503, 'the server is currently unable')).toEqual(['ENGINE_FAILED', true]);
  expect(cause(422, 'spec.x: Invalid value')).toEqual(['ENGINE_FAILED', false]);
  expect(meaningOf('anything else')).toBeNull();
});

test('quantities, versions and ends of commands are read', () => {
  expect(['500m', '2', '24686888Ki', '1G', '1500000n', 'x', undefined].map(toNumber)).toEqual([
    0.5,
    2,
    24_686_888 * 1024,
    1e9,
    0.0015,
    0,
    0,
  ]);
  expect(isAtLeast({ gitVersion: '', major: '1', minor: '30+' }, { major: 1, minor: 30 })).toBe(true);
  expect(isAtLeast({ gitVersion: '', major: '1', minor: '29' }, { major: 1, minor: 30 })).toBe(false);
  expect(exitCodeOf('{"status":"Success"}')).toBe(0);
  expect(exitCodeOf('{"status":"Failure","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}')).toBe(3);
  for (const text of ['{"status":"Failure","message":"no such file"}', 'null', '{', '{"details":{"causes":{}}}'])
    expect(exitCodeOf(text)).toBeNull();
});
