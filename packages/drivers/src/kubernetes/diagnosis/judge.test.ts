import type { ContainerState, Event, Pod } from 'kubernetes-types/core/v1.js';
import { describe, expect, test } from 'vitest';
import { ApiRefusal, closeApi, openApi } from '../client/api.ts';
import { exitCodeOf } from '../client/exec.ts';
import { meaningOf } from '../client/meanings.ts';
import { translated } from '../client/refusals.ts';
import { isAtLeast } from '../cluster/describe.ts';
import { gather, toInstance } from '../instances/instances.ts';
import { eventsOf, isLivenessKill, reportedOf } from '../instances/watch.ts';
import { label } from '../names/labels.ts';
import { toNumber } from '../names/quantity.ts';
import { sampleWorkload } from '../testing/workloads.ts';
import { explain } from './failures.ts';
import { withFirstSeen } from './fault.ts';
import { imageFault } from './image-fault.ts';
import type { InstanceFacts } from './instance-facts.ts';
import { judgeReady, judgeStart } from './judge.ts';
import { faultOf } from './start-faults.ts';

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

const seen = (one: Pod | null, changes: Partial<InstanceFacts> = {}): InstanceFacts => ({
  name: 'web-1-0',
  pod: one,
  events: [],
  began: 0,
  now: 1_000,
  ...changes,
});
const late = { now: 3_600_000 };
const start = (one: Pod | null, changes?: Partial<InstanceFacts>) => judgeStart(sampleWorkload(), seen(one, changes));
const ready = (one: Pod | null, changes?: Partial<InstanceFacts>) => judgeReady(sampleWorkload(), seen(one, changes));

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
    expect(start(busy)).toEqual({ type: 'WAIT', againAt: 20_000 });
    expect(start(busy, late)).toMatchObject({ type: 'FAILED' });
  });

  describe('where a runtime could not start its program', () => {
    const refused = (message?: string, reason = 'StartError'): ContainerState => ({
      terminated: { exitCode: 128, reason, ...(message !== undefined && { message }) },
    });
    const shapes = (end: ContainerState): [string, Pod][] => [
      ['it has ended', pod({ state: end })],
      ['the next start is refused', pod({ state: waiting('RunContainerError', end.terminated?.message), lastState: end })],
      ['the next start is waited for', pod({ state: waiting('CrashLoopBackOff', 'back-off 10s'), lastState: end })],
    ];
    const passing = [
      'failed to create containerd task: context deadline exceeded',
      "failed to create shim task: OCI runtime create failed: runc create failed: can't get final child's PID from pipe: EOF",
      'failed to start containerd task: device or resource busy',
    ];
    const staying = [
      undefined,
      'runc create failed: exec: "nope": executable file not found in $PATH: unknown',
      'runc create failed: exec: "/run.sh": permission denied: unknown',
      'runc create failed: exec: "/nope": stat /nope: no such file or directory: unknown',
      'runc create failed: exec /run.sh: exec format error: unknown',
    ];

    test.each(passing)('after a while, as the node tries again: %s', (message) => {
      for (const [, one] of shapes(refused(message))) {
        expect(start(one)).toEqual({ type: 'WAIT', againAt: 20_000 });
        expect(ready(one)).toEqual({ type: 'WAIT', againAt: 20_000 });
        expect(start(one, { now: 20_000 })).toEqual({
          type: 'FAILED',
          suspicion: { type: 'UNSTARTABLE', reason: 'StartError', words: message },
        });
      }
      expect(start(pod({ state: refused(message, 'ContainerCannotRun') }))).toEqual({ type: 'WAIT', againAt: 20_000 });
    });

    test.each(staying)('never where it will not be another time: %s', (message) => {
      for (const [, one] of shapes(refused(message)))
        expect(start(one)).toMatchObject({ type: 'FAILED', suspicion: { words: message ?? 'exit code 128' } });
    });

    test('once another start has succeeded', () => {
      for (const message of [...passing, ...staying]) {
        const one = pod({ state: running, lastState: refused(message), restartCount: 1, ready: true });
        expect(start(one, late).type).toBe('DONE');
        expect(ready(one, late).type).toBe('DONE');
        expect(ready(pod({ state: running, lastState: refused(message), restartCount: 1 })).type).toBe('WAIT');
      }
    });
  });

  test('never when a policy refuses its pod, and after a while when a quota does', () => {
    const policy = { events: [event('FailedCreate', 'pods "x" is forbidden: violates PodSecurity "restricted"')] };
    expect(start(null, policy)).toMatchObject({ type: 'FAILED', suspicion: { type: 'REFUSED' } });
    const quota = { events: [event('FailedCreate', 'pods "x" is forbidden: exceeded quota: tight')] };
    expect(start(null, quota)).toEqual({ type: 'WAIT', againAt: 10_000 });
    expect(start(null, { ...quota, ...late })).toMatchObject({ type: 'FAILED' });
  });

  test('after a while when a webhook of the cluster is away, which is no refusal', async () => {
    const words =
      'Internal error occurred: failed calling webhook "validate.kyverno.svc": failed to call webhook: Post "https://kyverno/": no endpoints available';
    const away = { events: [event('FailedCreate', words)] };
    expect(start(null, away)).toEqual({ type: 'WAIT', againAt: 60_000 });
    const judged = start(null, { ...away, now: 61_000 });
    if (judged.type !== 'FAILED') throw new Error('it waits on');
    const nowhere = openApi({ server: 'https://127.0.0.1:1', isUnchecked: false });
    const error = await explain({ api: nowhere, installation: '' }, sampleWorkload(), judged.suspicion, AbortSignal.abort());
    expect(error).toMatchObject({ code: 'ENGINE_FAILED', retryable: true, message: expect.stringContaining('kyverno') });
    closeApi(nowhere);
  });

  test('after a while when the account of its namespace does not come', () => {
    const words = 'pods "x" is forbidden: error looking up service account davit-1/default: serviceaccount "default" not found';
    const late = { events: [event('FailedCreate', `Error creating: ${words}`)] };
    expect(start(null, late)).toEqual({ type: 'WAIT', againAt: 60_000 });
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

  test('never when the node cannot make its pod, and not as long as it pulls', () => {
    const creating = pod({ state: waiting('ContainerCreating') });
    const words = 'failed to setup network for sandbox: no more addresses';
    const changes = { events: [event('FailedCreatePodSandBox', words)] };
    expect(start(creating, changes)).toEqual({ type: 'WAIT', againAt: 120_000 });
    const suspicion = { type: 'UNMADE', reason: 'FailedCreatePodSandBox', words };
    expect(start(creating, { ...changes, now: 121_000 })).toEqual({ type: 'FAILED', suspicion });
    const pulls = { events: [...changes.events, event('Pulling', 'a large image')], ...late };
    expect(start(creating, pulls)).toEqual({ type: 'WAIT', againAt: Infinity });
  });

  test('never when its node does nothing with it for long', () => {
    const taken: Pod = { ...pod(), spec: { nodeName: 'node1', containers: [] } };
    expect(start(taken)).toEqual({ type: 'WAIT', againAt: 600_000 });
    expect(start(taken, { now: 601_000 })).toMatchObject({
      suspicion: { type: 'UNMADE', reason: 'node1', words: expect.stringContaining('not started to create it') },
    });
    const ready = { type: 'PodReadyToStartContainers', status: 'True' };
    const pulling: Pod = { ...taken, status: { ...taken.status, startTime: '1970-01-01T00:00:00Z', conditions: [ready] } };
    expect(start(pulling, late)).toEqual({ type: 'WAIT', againAt: Infinity });
    const stuck: Pod = { ...pulling, status: { ...pulling.status, conditions: [{ ...ready, status: 'False' }] } };
    expect(start(stuck, late)).toMatchObject({ type: 'FAILED', suspicion: { type: 'UNMADE' } });
    // An older kubelet does not report the condition.
    const unsaid: Pod = { ...pulling, status: { ...pulling.status, conditions: [] } };
    expect(start(unsaid, late)).toEqual({ type: 'WAIT', againAt: Infinity });
  });

  test('never when the registry does not have its image, and a registry that does not answer is asked again first', () => {
    const missing = start(pod({ state: waiting('ErrImagePull', 'registry.example.org/a:b: not found') }));
    expect(missing).toMatchObject({ type: 'FAILED', suspicion: { type: 'IMAGE', fault: 'NOT_FOUND' } });
    const away = pod({ state: waiting('ErrImagePull', 'dial tcp: connection refused') });
    expect(start(away)).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(away, late)).toMatchObject({ suspicion: { fault: 'UNREACHABLE' } });
    // Between two attempts only the warning of the last attempt shows the cause.
    const backingOff = pod({ state: waiting('ImagePullBackOff', 'Back-off pulling image "a:b"') });
    const reported = { events: [event('Failed', 'Failed to pull image "a:b": unauthorized')] };
    expect(start(backingOff, reported)).toMatchObject({ suspicion: { fault: 'DENIED' } });
  });

  test('never when the registry refuses, but not for the attempts of a node that had no credentials yet', () => {
    const state = { state: waiting('ErrImagePull', 'no basic auth credentials') };
    const plain = pod(state);
    expect(start(plain)).toMatchObject({ suspicion: { fault: 'DENIED' } });
    const secret = { ...plain, spec: { ...plain.spec, containers: [], imagePullSecrets: [{ name: 'pull' }] } };
    expect(start(secret)).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(secret, late)).toMatchObject({ suspicion: { fault: 'DENIED' } });
    const output = event('Failed', 'Failed to pull image "a:b": no basic auth credentials');
    expect(start(secret, { events: [output, event('Failed', 'Error: ErrImagePull')] })).toEqual({
      type: 'WAIT',
      againAt: 60_000,
    });
    expect(start(secret, { events: [{ ...event('BackOff', 'denied'), count: 5 }, output] })).toEqual({
      type: 'WAIT',
      againAt: 60_000,
    });
    expect(start(secret, { events: [{ ...output, count: 2 }] })).toMatchObject({ suspicion: { fault: 'DENIED' } });
  });
});

describe('an instance with a helper has been started', () => {
  interface HelperInput {
    readonly main?: ContainerState;
    readonly helper?: ContainerState;
    readonly lastState?: ContainerState;
    readonly isSidecar?: boolean;
    readonly phase?: string;
  }
  const helperImage = 'docker.io/library/busybox:1.37';
  const withHelper = ({ main = running, helper, lastState, isSidecar = false, phase = 'Pending' }: HelperInput): Pod => {
    const own = pod({ state: main });
    const common = { image: '', imageID: '', ready: false, restartCount: 0 };
    const reported = helper === undefined ? [] : [{ ...common, name: 'helper', state: helper, ...(lastState && { lastState }) }];
    const container = { name: 'helper', image: helperImage };
    const first = { name: 'main', image: 'r.io/app:1' };
    return {
      ...own,
      spec: isSidecar
        ? { containers: [first], initContainers: [{ ...container, restartPolicy: 'Always' }] }
        : { containers: [first, container] },
      status: {
        ...own.status,
        phase,
        containerStatuses: [...(own.status?.containerStatuses ?? []), ...(isSidecar ? [] : reported)],
        ...(isSidecar && { initContainerStatuses: reported }),
      },
    };
  };
  const absent = waiting('ErrImagePull', `${helperImage}: not found`);
  const away = waiting('ErrImagePull', 'dial tcp: connection refused');

  test('once both run, or have ended', () => {
    expect(start(withHelper({ helper: running })).type).toBe('DONE');
    expect(start(withHelper({ helper: running, isSidecar: true })).type).toBe('DONE');
    expect(start(withHelper({ main: ended(0), helper: ended(0), phase: 'Succeeded' })).type).toBe('DONE');
    expect(start(withHelper({ main: ended(0), helper: running, phase: 'Running' })).type).toBe('DONE');
    const again = waiting('CrashLoopBackOff');
    expect(start(withHelper({ helper: again, lastState: ended(1), isSidecar: true })).type).toBe('DONE');
  });

  test('not before its helper runs, also when its process has ended by then', () => {
    const helper = waiting('ContainerCreating');
    expect(start(withHelper({ helper }), late)).toEqual({ type: 'WAIT', againAt: Infinity });
    expect(start(withHelper({ main: ended(0), helper }), late)).toEqual({ type: 'WAIT', againAt: Infinity });
    expect(start(withHelper({ main: ended(0) }), late)).toEqual({ type: 'WAIT', againAt: Infinity });
    // In a pod that is over, nothing starts any more.
    expect(start(withHelper({ main: ended(1), helper, phase: 'Failed' })).type).toBe('DONE');
    expect(start(withHelper({ main: ended(1), helper: absent, phase: 'Failed' })).type).toBe('DONE');
  });

  test.each([
    ['beside a process that runs', running, false],
    ['beside a process that has ended', ended(0), false],
    ['before a process that waits for it', waiting('PodInitializing'), true],
  ])('never when the image of the helper cannot be had: %s', (_, main, isSidecar) => {
    expect(start(withHelper({ main, helper: absent, isSidecar }))).toMatchObject({
      type: 'FAILED',
      suspicion: { type: 'IMAGE', fault: 'NOT_FOUND', helper: helperImage },
    });
    const passing = withHelper({ main, helper: away, isSidecar });
    expect(start(passing)).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(passing, { now: 60_000 })).toMatchObject({
      suspicion: { type: 'IMAGE', fault: 'UNREACHABLE', helper: helperImage },
    });
  });

  test('never when the program of the helper could not be', () => {
    const missing: ContainerState = {
      terminated: { exitCode: 128, reason: 'StartError', message: 'exec: "/bin/sh": not found' },
    };
    for (const phase of ['Running', 'Failed']) {
      expect(start(withHelper({ helper: missing, phase }))).toMatchObject({
        suspicion: { type: 'UNSTARTABLE', words: expect.stringContaining('/bin/sh'), helper: helperImage },
      });
    }
    const again = { helper: waiting('CrashLoopBackOff'), lastState: missing, isSidecar: true };
    expect(start(withHelper({ ...again, main: waiting('PodInitializing') }))).toMatchObject({
      suspicion: { type: 'UNSTARTABLE', helper: helperImage },
    });
    expect(start(withHelper({ ...again, helper: running })).type).toBe('DONE');
  });

  test('by what is said of each of the two, not of the other one', () => {
    const about = (name: string, words: string): Event => ({
      ...event('Failed', words),
      involvedObject: { name: 'web-1-0-x', fieldPath: `spec.containers{${name}}` },
    });
    const events = [
      about('helper', `Failed to pull image "${helperImage}": dial tcp: no such host`),
      about('main', 'Failed to pull image "r.io/app:1": unauthorized'),
    ];
    const backingOff = waiting('ImagePullBackOff', 'Back-off pulling image');
    expect(start(withHelper({ helper: backingOff }), { events })).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(withHelper({ main: backingOff, helper: running }), { events: events.toReversed() })).toMatchObject({
      suspicion: { fault: 'DENIED' },
    });
  });

  test('with times of their own for what may pass', () => {
    const first = withHelper({ main: away, helper: away });
    const faults = withFirstSeen(new Map(), [faultOf(seen(first, { now: 5_000 }))], 5_000);
    const second = withHelper({ helper: away });
    const later = withFirstSeen(faults, [faultOf(seen(second, { now: 50_000 }))], 50_000);
    expect(start(second, { now: 50_000, faults: later })).toEqual({ type: 'WAIT', againAt: 110_000 });
  });

  test('and the failure names its image, and who can give it another one', async () => {
    const judged = start(withHelper({ helper: absent }));
    if (judged.type !== 'FAILED') throw new Error('it waits on');
    const nowhere = openApi({ server: 'https://127.0.0.1:1', isUnchecked: false });
    const error = await explain({ api: nowhere, installation: '' }, sampleWorkload(), judged.suspicion, AbortSignal.abort());
    expect(error).toMatchObject({
      code: 'IMAGE_NOT_FOUND',
      message: expect.stringContaining(`cannot pull ${helperImage}`),
      hint: expect.stringContaining('helper_image'),
    });
    closeApi(nowhere);
  });
});

describe('a fault that may pass has its time from when it was first seen', () => {
  const creating = pod({ state: waiting('ContainerCreating') });
  const volume = event('FailedMount', 'failed to sync secret cache');
  const sandbox = event('FailedCreatePodSandBox', 'plugin not initialized');
  const since = (before: ReadonlyMap<string, number>, one: Pod | null, now: number, events: readonly Event[] = []) => {
    const faults = withFirstSeen(before, [faultOf(seen(one, { now, events }))], now);
    return { faults, judged: start(one, { now, events, faults }) };
  };

  test.each([
    ['a volume', creating, [volume], 120_000],
    ['its network', creating, [sandbox], 120_000],
    ['its image', pod({ state: waiting('ErrImagePull', 'dial tcp: connection refused') }), [], 60_000],
    ['its container', pod({ state: waiting('CreateContainerConfigError', 'failed to sync secret cache') }), [], 20_000],
    ['a quota', null, [event('FailedCreate', 'exceeded quota: tight')], 10_000],
    ['room', pod({ unscheduled: 'no node' }), [], 60_000],
  ])('also on a node that comes late: %s', (_, one, events, milliseconds) => {
    const first = since(new Map(), one, 180_000, events);
    expect(first.judged).toEqual({ type: 'WAIT', againAt: 180_000 + milliseconds });
    const last = since(first.faults, one, 179_999 + milliseconds, events);
    expect(last.judged).toEqual(first.judged);
    expect(since(last.faults, one, 180_000 + milliseconds, events).judged.type).toBe('FAILED');
  });

  test('another fault of the same pod has its own, and so has that of the next pod', () => {
    const away = pod({ state: waiting('ErrImagePull', 'dial tcp: connection refused') });
    const first = since(new Map(), away, 5_000);
    const config = pod({ state: waiting('CreateContainerConfigError', 'failed to sync secret cache') });
    const second = since(first.faults, config, 50_000);
    expect(second.judged).toEqual({ type: 'WAIT', againAt: 70_000 });
    const next: Pod = { ...config, metadata: { ...config.metadata, uid: '2' } };
    expect(since(second.faults, next, 65_000).judged).toEqual({ type: 'WAIT', againAt: 85_000 });
  });

  test('one that passed and comes again begins anew', () => {
    const away = pod({ state: waiting('ErrImagePull', 'dial tcp: connection refused') });
    const first = since(new Map(), away, 5_000);
    const passed = since(first.faults, creating, 20_000);
    expect(since(passed.faults, away, 64_000).judged).toEqual({ type: 'WAIT', againAt: 124_000 });
  });

  test('while it is waited for to be ready, too', () => {
    const config = pod({ state: waiting('CreateContainerConfigError', 'failed to sync secret cache') });
    const { faults } = since(new Map(), config, 30_000);
    expect(ready(config, { now: 30_000, faults })).toEqual({ type: 'WAIT', againAt: 50_000 });
    expect(ready(config, { now: 50_000, faults })).toMatchObject({ suspicion: { type: 'UNSTARTABLE' } });
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
  for (const [output, fault] of words) expect([output, imageFault(output)]).toEqual([output, fault]);
});

describe('a pod that a node refused, or gave up, before its process began', () => {
  const rejected = (restartPolicy: string, reason = 'OutOfcpu', labels: Readonly<Record<string, string>> = {}): Pod => ({
    metadata: { name: 'web-1-0-x', namespace: 'davit-a', uid: '1', labels: { [label.instance]: 'web-1-0', ...labels } },
    spec: { restartPolicy, containers: [] },
    status: { phase: 'Failed', reason, message: 'Pod was rejected: Node did not have enough resource: cpu' },
  });
  const fault = { type: 'FAILED', suspicion: { type: 'REJECTED', reason: 'OutOfcpu', words: expect.stringContaining('cpu') } };

  test('is the end of a run, as its Job makes no other one', () => {
    expect(start(rejected('Never'), { rejected: 1 })).toMatchObject(fault);
    expect(ready(rejected('Never'), { rejected: 1 })).toMatchObject(fault);
  });

  test('may not be the end of a run of a schedule, whose Job may make another one', () => {
    const scheduled = rejected('Never', 'OutOfcpu', { [label.schedule]: 'one' });
    expect(start(scheduled, { rejected: 1 })).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(scheduled, { rejected: 1, ...late })).toMatchObject(fault);
  });

  test('is not the end of a service, for which another one is made, until that goes on and on', () => {
    expect(start(rejected('Always'), { rejected: 3 })).toEqual({ type: 'WAIT', againAt: 60_000 });
    expect(start(rejected('Always'), { rejected: 1, ...late })).toEqual({ type: 'WAIT', againAt: Infinity });
    expect(start(rejected('Always'), { rejected: 3, ...late })).toMatchObject(fault);
    const onLateNode = { rejected: 3, rejectedSince: 180_000, now: 181_000 };
    expect(start(rejected('Always'), onLateNode)).toEqual({ type: 'WAIT', againAt: 240_000 });
  });

  test('is nothing that a chart fails for, which makes pods as it likes', () => {
    expect(start(rejected('Never'), late)).toEqual({ type: 'WAIT', againAt: Infinity });
  });
});

test('what nodes say is not read in the name of the image', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  const words: readonly [string, string, ReturnType<typeof imageFault>][] = [
    [
      'team/denied-list:1',
      'failed to resolve reference "docker.io/team/denied-list:1": docker.io/team/denied-list:1: not found',
      'NOT_FOUND',
    ],
    ['denied', 'failed to pull and unpack image "docker.io/library/denied:latest": not found', 'NOT_FOUND'],
    ['denied', 'failed to pull and unpack image "docker.io/library/denied:latest": pull access denied', 'DENIED'],
    [
      'r.io/forbidden/x@' + digest,
      `failed to resolve reference "r.io/forbidden/x@${digest}": dial tcp: no such host`,
      'UNREACHABLE',
    ],
    ['r.io:5000/GEOFence:401', 'Back-off pulling image "r.io:5000/GEOFence:401"', null],
    ['r.io/team/geofence:404', 'Head "https://r.io/v2/team/geofence/manifests/404": connection reset', 'UNREACHABLE'],
    ['timeout.example.org/tls:1', 'failed to resolve reference "timeout.example.org/tls:1": unexpected status', null],
    ['r.io/app:x509', 'Failed to pull image "r.io/app:x509": something else', null],
    ['not-found/eof', 'Failed to pull image "not-found/eof": unauthorized', 'DENIED'],
    ['eof', 'failed to do request: Head "https://registry-1.docker.io/v2/library/eof/manifests/latest": EOF', 'UNREACHABLE'],
    ['a', 'manifest for a:latest: manifest unknown', 'NOT_FOUND'],
    ['denied.example.org/app:1', 'dial tcp: lookup denied.example.org on 10.0.0.10:53: no such host', 'UNREACHABLE'],
    ['', 'manifest unknown', 'NOT_FOUND'],
  ];
  for (const [image, output, fault] of words) expect([output, imageFault(output, [image])]).toEqual([output, fault]);
  const named: Pod = {
    ...pod({ state: waiting('ImagePullBackOff', 'Back-off pulling image "r.io/denied:1"') }),
    spec: { containers: [{ name: 'main', image: 'r.io/denied:1' }] },
  };
  expect(start(named)).toEqual({ type: 'WAIT', againAt: 60_000 });
});

describe('an instance is ready', () => {
  test('when the kubelet says so, and without ports and probe after a second', () => {
    expect(ready(pod({ state: running, ready: true })).type).toBe('DONE');
    expect(ready(pod({ state: running, lastState: ended(137, 'OOMKilled'), restartCount: 9, ready: true })).type).toBe('DONE');
    expect(ready(pod({ state: running }))).toEqual({ type: 'WAIT', againAt: 60_000 });
    const plain = sampleWorkload({ ports: [], readiness: null });
    const one = pod({ state: running, ready: true });
    expect(judgeReady(plain, seen(one, { runningSince: 5_000, now: 5_900 }))).toEqual({ type: 'WAIT', againAt: 6_000 });
    expect(judgeReady(plain, seen(one, { runningSince: 5_000, now: 6_000 })).type).toBe('DONE');
  });

  test('for a second by the clock of this machine, as that of its node may be any', () => {
    const plain = sampleWorkload({ ports: [], readiness: null });
    const ahead = pod({ state: { running: { startedAt: '2099-01-01T00:00:00Z' } }, ready: true });
    expect(judgeReady(plain, seen(ahead, { runningSince: 5_000, now: 6_000 })).type).toBe('DONE');
    const behind = pod({ state: { running: { startedAt: '1970-01-01T00:00:00Z' } }, ready: true });
    expect(judgeReady(plain, seen(behind, { runningSince: 5_000, now: 5_500 })).type).toBe('WAIT');
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

  test('as unready while it runs and the cluster sends it no requests', () => {
    expect(show(pod({ state: running, ready: false }))).toMatchObject([{ state: 'RUNNING', unready: true }]);
    expect(show(pod({ state: running, ready: true }))[0]).not.toHaveProperty('unready');
    expect(show(pod({ state: waiting('ContainerCreating') }))[0]).not.toHaveProperty('unready');
  });

  test('as ended where only its Job remembers it', () => {
    const status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    expect(gather([{ ...controller, status } as object], []).map(toInstance)).toMatchObject([
      { state: 'EXITED', exit: { code: 255 } },
    ]);
  });

  test('as ended where its pod never began, and its Job makes no other one', () => {
    const lost: Pod = { ...pod(), status: { phase: 'Failed', reason: 'NodeShutdown' } };
    const status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    expect(gather([{ ...controller, status } as object], [lost]).map(toInstance)).toMatchObject([
      { state: 'EXITED', exit: { code: 255, at: '2026-01-01T00:00:00Z' } },
    ]);
    expect(show(lost)).toMatchObject([{ state: 'CREATED', exit: null }]);
    const former = pod({ state: ended(3) });
    const first = { ...former, metadata: { ...former.metadata, uid: '0', creationTimestamp: '2026-01-01T00:00:00Z' } };
    const second = { ...lost, metadata: { ...lost.metadata, creationTimestamp: '2026-01-01T00:00:10Z' } };
    expect(gather([{ ...controller, status } as object], [first, second]).map(toInstance)).toMatchObject([{ state: 'EXITED' }]);
  });

  test('by the pod that goes on, not by one of the same second that a node refused', () => {
    const made = (one: Pod, uid: string): Pod => ({
      ...one,
      metadata: { ...one.metadata, uid, creationTimestamp: '2026-01-01T00:00:00Z' },
    });
    const lost: Pod = { ...pod(), status: { phase: 'Failed', reason: 'OutOfcpu' } };
    expect(show(made(lost, '1'), made(pod({ state: running }), '2'))).toMatchObject([{ state: 'RUNNING' }]);
  });

  describe('with its last end', () => {
    const at = '2026-01-01T00:00:09Z';
    const killed = { terminated: { exitCode: 137, reason: 'OOMKilled', startedAt: '2026-01-01T00:00:00Z', finishedAt: at } };
    const outOfMemory = { code: 137, outOfMemory: true, at };

    test('while the kubelet waits before it starts it again, and after that', () => {
      const back = { state: waiting('CrashLoopBackOff', 'back-off 1m20s restarting failed container=main'), lastState: killed };
      expect(show(pod({ ...back, restartCount: 4 }))).toMatchObject([
        { state: 'EXITED', lastEnd: outOfMemory, restarts: 5, restartPauseSeconds: 80 },
      ]);
      expect(show(pod({ state: running, lastState: killed, restartCount: 4 }))).toMatchObject([
        { state: 'RUNNING', lastEnd: outOfMemory, restarts: 4 },
      ]);
      expect(show(pod({ state: running }))[0]).not.toHaveProperty('lastEnd');
    });

    test('with the pause that is to come, before the kubelet states it', () => {
      expect(show(pod({ state: killed }))[0]).toMatchObject({ restarts: 1 });
      expect(show(pod({ state: killed }))[0]).not.toHaveProperty('restartPauseSeconds');
      expect(show(pod({ state: killed, restartCount: 2 }))).toMatchObject([{ restarts: 3, restartPauseSeconds: 20 }]);
      expect(show(pod({ state: killed, restartCount: 9 }))).toMatchObject([{ restarts: 10, restartPauseSeconds: 300 }]);
    });

    test('of a pod that a node evicted, in the words of the cluster, also beside its successor', () => {
      const one = pod({ state: { terminated: { ...killed.terminated, reason: 'Error' } } });
      const words = 'The node was low on resource: memory.';
      const status = { ...one.status, phase: 'Failed', reason: 'Evicted', message: words };
      const evicted: Pod = { ...one, metadata: { ...one.metadata, uid: '0', deletionTimestamp: '2026-01-01T00:00:40Z' }, status };
      const next = pod({ state: running });
      const lastEnd = { code: 137, at, words: `Evicted: ${words}` };
      expect(show(evicted)).toMatchObject([{ lastEnd }]);
      expect(show(next, evicted)).toMatchObject([{ state: 'RUNNING', lastEnd }]);
    });

    test('of a pod that was evicted before anything was known of its process', () => {
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: at }];
      const status = { phase: 'Failed', reason: 'Evicted', message: 'DiskPressure', conditions };
      expect(show({ ...pod(), status })).toMatchObject([{ lastEnd: { code: null, at, words: 'Evicted: DiskPressure' } }]);
    });

    test('of a pod that the cluster deletes to make room, or because its node is lost', () => {
      const one = pod({ state: running, ready: true });
      const metadata = { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:40Z', deletionGracePeriodSeconds: 30 };
      const target = (reason: string): Pod => {
        const condition = { type: 'DisruptionTarget', status: 'True', reason, message: 'moved', lastTransitionTime: at };
        return { metadata, status: { ...one.status, conditions: [condition] } };
      };
      for (const reason of ['PreemptionByScheduler', 'DeletionByTaintManager'])
        expect(show(target(reason))).toMatchObject([{ lastEnd: { code: null, at, words: `${reason}: moved` } }]);
      expect(show(target('EvictionByEvictionAPI'))[0]).not.toHaveProperty('lastEnd');
    });

    test('without the exit code that a kubelet invents for a container that it lost', () => {
      const one = pod({ state: running, lastState: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } });
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: at }];
      expect(show({ ...one, status: { ...one.status, conditions } })).toMatchObject([{ lastEnd: { code: null, at } }]);
    });

    test('not where somebody has the pod deleted', () => {
      const one = pod({ state: { terminated: { ...killed.terminated, exitCode: 143, reason: 'Error' } } });
      const requested = { deletionTimestamp: '2026-01-01T00:00:38Z', deletionGracePeriodSeconds: 30 };
      expect(show({ ...one, metadata: { ...one.metadata, ...requested } })[0]).not.toHaveProperty('lastEnd');
    });
  });

  test('as long as a pod of it is there, also without what made it', () => {
    expect(gather([], [pod({ state: running })]).map(({ id }) => id)).toEqual(['davit-a/web-1-0']);
    const leaving = { ...controller, metadata: { ...controller.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(gather([leaving], [])).toEqual([]);
  });
});

test('changes of a pod are told as starts, ends, removals and other changes', () => {
  const change = (one: PodInput, before?: PodInput) =>
    eventsOf({ type: 'MODIFIED', object: pod(one) }, before && reportedOf(pod(before)));
  const again: ContainerState = { running: { startedAt: '2026-01-01T00:00:09Z' } };
  expect(change({ state: running })).toEqual(['STARTED']);
  expect(change({ state: running }, { state: running })).toEqual([]);
  expect(change({ state: ended(1) }, { state: running })).toEqual(['DIED']);
  expect(change({ state: again, lastState: ended(1) }, { state: running })).toEqual(['DIED', 'STARTED']);
  // The kubelet shows no running state of a process that ends at once.
  const pausing = { state: waiting('CrashLoopBackOff'), lastState: ended(1) };
  const later: ContainerState = { terminated: { exitCode: 1, finishedAt: '2026-01-01T00:00:20Z' } };
  expect(change({ state: waiting('CrashLoopBackOff'), lastState: later }, pausing)).toEqual(['DIED']);
  expect(change({ state: running, ready: false }, { state: running, ready: true })).toEqual(['CHANGED']);
  expect(change({ state: waiting('ImagePullBackOff') }, { state: waiting('ContainerCreating') })).toEqual(['CHANGED']);
  const before = reportedOf(pod({ state: running }));
  expect(eventsOf({ type: 'DELETED', object: pod() }, before)).toEqual(['DIED', 'REMOVED']);
});

test('of the events of a cluster, one says that a failing liveness probe ends a container', () => {
  expect(isLivenessKill(event('Killing', 'Container main failed liveness probe, will be restarted'))).toBe(true);
  expect(isLivenessKill(event('Killing', 'Stopping container main'))).toBe(false);
  expect(isLivenessKill(event('Unhealthy', 'Liveness probe failed: HTTP probe failed with statuscode: 404'))).toBe(false);
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
  expect(cause(403, 'admission webhook "x" denied the request: failed calling webhook y')).toEqual(['ADMISSION_REFUSED', false]);
  expect(cause(500, 'Internal error occurred: failed calling webhook "x": context deadline exceeded')).toEqual([
    'ENGINE_FAILED',
    true,
  ]);
  expect(cause(403, 'unable to create new content because it is being terminated')).toEqual(['ENGINE_FAILED', true]);
  // The default account of the namespace has not been created yet. An account that a chart names may never be created.
  const account = (name: string) =>
    cause(403, `pods "x" is forbidden: error looking up service account davit-1/${name}: serviceaccount "${name}" not found`);
  expect(account('default')).toEqual(['ENGINE_FAILED', true]);
  expect(account('other')).toEqual(['CLUSTER_ACCESS_DENIED', false]);
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
