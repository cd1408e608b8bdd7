import type { ContainerState, Pod } from 'kubernetes-types/core/v1.js';
import { describe, expect, test } from 'vitest';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { parseDockerfile } from '../../shared/build/dockerfile.ts';
import { buildRequest } from '../../shared/build/testing.ts';
import { judgeFault } from '../diagnosis/judge.ts';
import { beginFailure, endFailure, killsForMemory, lostPod, runFailure } from './failures.ts';
import { buildFaultOf, endOf, isUp } from './pod.ts';

const registry = { host: 'r.example', credentials: null, isPlain: false, folder: 'r.example/davit' };
const request: ClusterBuildRequest = { ...buildRequest('/x'), reference: 'r.example/davit/shop:1', registry };

const container = (name: string, state: ContainerState) => ({
  name,
  state,
  image: '',
  imageID: '',
  ready: true,
  restartCount: 0,
});
const pod = (main: ContainerState, status: object = {}, metadata: object = {}): Pod => ({
  metadata: { name: 'p', ...metadata },
  status: { phase: 'Running', containerStatuses: [container('main', main), container('helper', { running: {} })], ...status },
});

describe('what became of a pod', () => {
  test.each([
    ['one that runs', pod({ running: {} }), null],
    ['one that is beginning', pod({ waiting: { reason: 'ContainerCreating' } }), null],
    [
      'a daemon that was killed for memory',
      pod({ terminated: { exitCode: 137, reason: 'OOMKilled' } }),
      { type: 'OUT_OF_MEMORY' },
    ],
    ['a daemon that ended', pod({ terminated: { exitCode: 1 } }), { type: 'ENDED', code: 1 }],
    [
      'one that wrote too much',
      pod({ terminated: { exitCode: 137 } }, { phase: 'Failed', reason: 'Evicted', message: 'Usage of EmptyDir volume "state"' }),
      { type: 'EVICTED', words: 'Usage of EmptyDir volume "state"' },
    ],
    [
      'one of a node that is drained',
      pod(
        { running: {} },
        { conditions: [{ type: 'DisruptionTarget', status: 'True', message: 'node drain' }] },
        { deletionTimestamp: 'now' },
      ),
      { type: 'GONE', words: 'node drain' },
    ],
  ])('%s', (_name, one, end) => expect(endOf(one)).toEqual(end));

  test('it is up when both containers run', () => {
    expect([isUp(pod({ running: {} })), isUp(pod({ waiting: {} })), isUp({})]).toEqual([true, false, false]);
  });
});

test('a node that cannot make the pod is given half a minute, from when it first says so', () => {
  const event = (reason: string) => ({ reason, message: 'no user namespaces', metadata: {}, involvedObject: {} });
  const beginning = pod({ waiting: { reason: 'ContainerCreating' } }, { conditions: [] });
  const judge = (now: number, ...events: readonly ReturnType<typeof event>[]) => {
    const seen = { name: 'p', pod: beginning, events, began: 0, now };
    const fault = buildFaultOf(seen);
    return judgeFault(fault, { ...seen, faults: new Map(fault === null ? [] : [[fault.id, 180_000]]) });
  };
  const output = event('FailedCreatePodSandBox');
  expect(judge(240_000)).toEqual({ type: 'WAIT', againAt: Infinity });
  expect(judge(209_999, output)).toEqual({ type: 'WAIT', againAt: 210_000 });
  expect(judge(210_000, output)).toMatchObject({
    type: 'FAILED',
    suspicion: { type: 'UNSTARTABLE', words: 'no user namespaces' },
  });
  // A later event shows that the node could set up the pod.
  expect(judge(240_000, output, event('Pulling'))).toEqual({ type: 'WAIT', againAt: Infinity });
});

test('ends of a pod are causes of a deployment', () => {
  expect(endFailure({ type: 'OUT_OF_MEMORY' }, request, ['last'])).toMatchObject({
    code: 'BUILD_OUT_OF_MEMORY',
    evidence: { lines: ['last'], exit: { outOfMemory: true } },
  });
  const evicted = (words: string) => endFailure({ type: 'EVICTED', words }, request, []);
  expect(evicted('Usage of EmptyDir volume "state" exceeds the limit "20Gi".')).toMatchObject({
    code: 'DISK_FULL',
    hint: expect.stringContaining('build_disk_gib'),
  });
  expect(evicted('The node was low on resource: memory.')).toMatchObject({ code: 'ENGINE_FAILED', retryable: true });
  expect(endFailure({ type: 'GONE', words: 'node drain' }, request, [])).toMatchObject({
    code: 'ENGINE_FAILED',
    retryable: true,
  });
  expect(endFailure({ type: 'ENDED', code: 1 }, request, ['newuidmap failed'])).toMatchObject({
    code: 'BUILD_UNAVAILABLE',
    hint: expect.stringContaining('build_isolation'),
    evidence: { lines: ['newuidmap failed'] },
  });
});

test('what keeps a build from beginning says what the operator can do', () => {
  const reported = (suspicion: Parameters<typeof beginFailure>[0]) => {
    const { code, hint, retryable } = beginFailure(suspicion, request, 'example.org/buildkit:1');
    return [code, hint, retryable];
  };
  expect(reported({ type: 'REFUSED', words: 'pods is forbidden: violates PodSecurity "baseline"' })).toEqual([
    'ADMISSION_REFUSED',
    expect.stringContaining('davit-builds-*'),
    false,
  ]);
  expect(reported({ type: 'REFUSED', words: 'failed calling webhook "x": no endpoints' })).toEqual([
    'ENGINE_FAILED',
    expect.not.stringContaining('quota'),
    true,
  ]);
  expect(reported({ type: 'REFUSED', words: 'exceeded quota: builds' })).toEqual(['QUOTA_EXCEEDED', expect.any(String), false]);
  expect(reported({ type: 'UNSCHEDULED', words: '0/3 nodes are available: 3 Insufficient memory.' })).toEqual([
    'UNSCHEDULABLE',
    expect.stringContaining('build_memory_mib'),
    false,
  ]);
  const image = (fault: 'NOT_FOUND' | 'UNREACHABLE') => reported({ type: 'IMAGE', fault, words: 'x' });
  expect(image('NOT_FOUND')).toEqual(['BUILD_UNAVAILABLE', expect.stringContaining('builder_image'), false]);
  expect(image('UNREACHABLE')[2]).toBe(true);
});

test('kills are counted as control groups of both versions tell them', () => {
  expect(killsForMemory('low 0\noom 3\noom_kill 2\noom_group_kill 0\n')).toBe(2);
  expect(killsForMemory('oom_kill_disable 0\nunder_oom 0\noom_kill 0\n')).toBe(0);
  expect(killsForMemory('cat: no such file')).toBeNull();
});

test.each([
  ['rpc error: code = Unavailable desc = error reading from server: EOF', true],
  ['failed to receive status: rpc error: code = Unavailable desc = closing transport', true],
  ['process "/bin/sh -c exit 1" did not complete successfully: exit code: 1', false],
  ['', true],
])('“%s”: a lost pod? %s', (words, isLost) => expect(lostPod(words)).toBe(isLost));

const ran = (message: string, instruction = '') =>
  runFailure(
    {
      message,
      outcome: { imageId: null, error: null, instruction, instructionLines: [], lines: [], commands: 0 },
      memoryMiB: 64,
      wasKilledForMemory: null,
      dockerfile: parseDockerfile('FROM scratch\n'),
      dockerfilePath: 'Dockerfile',
    },
    request.reference,
  );

test.each([
  [
    'failed to push r.example/davit/shop:1: push access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials',
    'REGISTRY_ACCESS_DENIED',
    false,
  ],
  ['failed to push r.example/davit/shop:1: unexpected status from PUT request: 403 Forbidden', 'REGISTRY_ACCESS_DENIED', false],
  [
    'failed to push r.example/davit/shop:1: failed to do request: Head "https://r.example/": dial tcp: no such host',
    'REGISTRY_UNREACHABLE',
    true,
  ],
])('%s', (message, code, retryable) => expect(ran(message)).toMatchObject({ code, retryable }));

test('what nobody knows of a registry may pass', () => {
  const words = 'failed to push r.example/davit/shop:1: errors:\nunknown: unknown error';
  expect(ran(words)).toMatchObject({ code: 'ENGINE_FAILED', retryable: true, message: expect.stringContaining('unknown error') });
});

test('an image that must not be a source, or cannot be had, is named', () => {
  const denied = 'failed to load cache key: source "docker-image://r.example/davit/other:1" not allowed by policy: action DENY';
  expect(ran(denied, 'load metadata for r.example/davit/other:1')).toMatchObject({
    code: 'BASE_IMAGE_UNAVAILABLE',
    message: expect.stringContaining('The image r.example/davit/other:1 could not be pulled'),
  });
  const frontend = 'failed to resolve source metadata for docker.io/docker/dockerfile:9: not found';
  expect(ran(frontend, 'resolve image config for docker-image://docker.io/docker/dockerfile:9').message).toContain(
    'The image docker.io/docker/dockerfile:9 could not be pulled',
  );
});
