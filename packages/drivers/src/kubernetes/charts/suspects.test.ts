import type { ContainerStatus, Event, Pod } from 'kubernetes-types/core/v1.js';
import { expect, test } from 'vitest';
import type { ChartObject } from '../../helm-driver.ts';
import { withFirstSeen } from '../diagnosis/fault.ts';
import { isMadeBy, makerOf } from './members.ts';
import { outsideAmong } from './outside.ts';
import { faultsOf, judgeRelease, lastSuspect, type SeenRelease } from './suspects.ts';

const maker = { kind: 'Deployment', name: 'web' };

function pod(status: Partial<ContainerStatus>, labels: Record<string, string> = {}): Pod {
  return {
    metadata: {
      name: 'web-5f-abc',
      labels: { 'pod-template-hash': '5f', ...labels },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5f', uid: 'u' }],
    },
    spec: { containers: [{ name: 'app', image: 'registry.example/web:1' }] },
    status: { containerStatuses: [{ name: 'app', image: '', imageID: '', ready: false, restartCount: 0, ...status }] },
  };
}

const seen = (pods: readonly Pod[], more: Partial<SeenRelease> = {}): SeenRelease => ({
  makers: [maker],
  pods,
  events: [],
  began: 0,
  now: 1_000,
  ...more,
});
const event = (reason: string, name: string, message: string): Event => ({
  metadata: {},
  involvedObject: { kind: 'ReplicaSet', name },
  reason,
  message,
});
const waiting = (reason: string, message = ''): Partial<ContainerStatus> => ({ state: { waiting: { reason, message } } });
const ended = { terminated: { exitCode: 3, reason: 'Error' } };

test('an image that is not there is found at once, and said of which container', () => {
  const found = judgeRelease(seen([pod(waiting('ErrImagePull', 'registry.example/web:1: not found'))]));
  expect(found.suspect).toMatchObject({
    what: 'Deployment web, pod web-5f-abc',
    suspicion: { type: 'IMAGE', fault: 'NOT_FOUND' },
    container: { image: 'registry.example/web:1' },
  });
});

test('a container that ends is given up after five restarts, and said when the time is over', () => {
  const crashing = (restartCount: number) => pod({ ...waiting('CrashLoopBackOff'), restartCount, lastState: ended });
  expect(judgeRelease(seen([crashing(2)])).suspect).toBeNull();
  expect(judgeRelease(seen([crashing(5)])).suspect?.suspicion).toMatchObject({ type: 'ENDED', container: 'app' });
  expect(lastSuspect(seen([crashing(2)]))?.suspicion).toMatchObject({ type: 'ENDED', container: 'app' });
});

test('a pod that is not ready is said when the time is over, one that is ready is not', () => {
  const running = { state: { running: {} } };
  expect(judgeRelease(seen([pod(running)])).suspect).toBeNull();
  expect(lastSuspect(seen([pod(running)]))?.suspicion.type).toBe('UNREADY');
  expect(lastSuspect(seen([pod({ ...running, ready: true })]))).toBeNull();
});

test('a container that ended once and is ready by now is not what a release failed for', () => {
  const recovered = pod({ state: { running: {} }, ready: true, restartCount: 1, lastState: ended });
  expect(lastSuspect(seen([recovered]))).toBeNull();
  const broken = pod({ ...waiting('CrashLoopBackOff'), restartCount: 2, lastState: ended });
  const other: Pod = { ...broken, metadata: { ...broken.metadata, name: 'web-5f-def' } };
  expect(lastSuspect(seen([recovered, other]))?.what).toBe('Deployment web, pod web-5f-def');
});

test('an attempt of a Job is not, after which another one succeeded', () => {
  const attempt = (name: string, phase: string, minute: number, status: Partial<ContainerStatus>): Pod => ({
    ...pod(status),
    metadata: {
      name,
      creationTimestamp: `2026-01-01T00:0${minute}:00Z`,
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate', uid: 'u' }],
    },
    status: { ...pod(status).status, phase },
  });
  const makers = [{ kind: 'Job', name: 'migrate' }];
  const first = attempt('migrate-a', 'Failed', 1, { state: ended });
  const unstartable = attempt('migrate-a', 'Failed', 1, { state: { terminated: { exitCode: 128, reason: 'StartError' } } });
  // The node restarted this container before it succeeded.
  const second = attempt('migrate-b', 'Succeeded', 2, { state: { terminated: { exitCode: 0 } }, restartCount: 1 });
  expect(lastSuspect(seen([first, second], { makers }))).toBeNull();
  expect(lastSuspect(seen([unstartable, second], { makers }))).toBeNull();
  expect(lastSuspect(seen([first], { makers }))?.suspicion.type).toBe('ENDED');
  const afterwards = attempt('migrate-c', 'Failed', 3, { state: ended });
  expect(lastSuspect(seen([second, afterwards], { makers }))?.what).toBe('Job migrate, pod migrate-c');
});

test('a container that is called as the helper of Davit is one as any other', () => {
  const running = { name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
  const beside = (status: Partial<ContainerStatus>): Pod => ({
    ...pod({}),
    spec: { containers: [{ name: 'app' }, { name: 'helper', image: 'registry.example/helper:1' }] },
    status: { containerStatuses: [running, { ...running, name: 'helper', ready: false, ...status }] },
  });
  const found = judgeRelease(seen([beside(waiting('ErrImagePull', 'registry.example/helper:1: not found'))]));
  expect(found.suspect).toMatchObject({
    what: 'Deployment web, container helper of pod web-5f-abc',
    suspicion: { type: 'IMAGE', fault: 'NOT_FOUND' },
    container: { image: 'registry.example/helper:1' },
  });
  expect(found.suspect?.suspicion).not.toHaveProperty('helper');
  const events = [
    {
      ...event('Failed', '', 'Failed to pull image "registry.example/helper:1": unauthorized'),
      involvedObject: { kind: 'Pod', name: 'web-5f-abc', fieldPath: 'spec.containers{helper}' },
    },
  ];
  expect(judgeRelease(seen([beside(waiting('ImagePullBackOff'))], { events })).suspect?.suspicion).toMatchObject({
    fault: 'DENIED',
  });
});

test('what waits for room is looked at again, and given up after a while', () => {
  const homeless = { ...pod({}), status: { conditions: [{ type: 'PodScheduled', status: 'False', message: 'no node' }] } };
  expect(judgeRelease(seen([homeless]))).toEqual({ suspect: null, againAt: 60_000 });
  expect(judgeRelease(seen([homeless], { now: 60_000 })).suspect?.suspicion).toEqual({ type: 'UNSCHEDULED', words: 'no node' });
});

test('a fault that may pass has its time from when it was first seen, in each container', () => {
  const away = 'dial tcp: connection refused';
  const first = seen([pod(waiting('ErrImagePull', away))], { now: 180_000 });
  const faults = withFirstSeen(new Map(), faultsOf(first), first.now);
  expect(judgeRelease({ ...first, faults })).toEqual({ suspect: null, againAt: 240_000 });
  expect(judgeRelease({ ...first, faults, now: 240_000 }).suspect?.suspicion).toMatchObject({ fault: 'UNREACHABLE' });
  const [one] = first.pods;
  const beside: Pod = {
    ...one,
    spec: { containers: [...(one?.spec?.containers ?? []), { name: 'proxy', image: 'registry.example/proxy:1' }] },
    status: {
      containerStatuses: [
        { name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } },
        { name: 'proxy', image: '', imageID: '', ready: false, restartCount: 0, ...waiting('ErrImagePull', away) },
      ],
    },
  };
  const second = seen([beside], { now: 230_000 });
  const later = withFirstSeen(faults, faultsOf(second), second.now);
  expect(judgeRelease({ ...second, faults: later })).toEqual({ suspect: null, againAt: 290_000 });
});

test('what the cluster does not let be made is said of what should make it', () => {
  const events = [event('FailedCreate', 'web-5f', 'pods is forbidden: violates PodSecurity "baseline:latest"')];
  expect(judgeRelease(seen([], { events })).suspect).toMatchObject({ what: 'Deployment web', suspicion: { type: 'REFUSED' } });
  expect(judgeRelease(seen([], { events: [event('FailedCreate', 'other-5f', 'exceeded quota')] })).suspect).toBeNull();
  const ofSet = { ...event('FailedCreate', 'web', 'violates PodSecurity'), involvedObject: { kind: 'StatefulSet', name: 'web' } };
  expect(judgeRelease(seen([], { events: [ofSet] })).suspect).toBeNull();
  expect(judgeRelease(seen([], { events: [ofSet], makers: [{ kind: 'StatefulSet', name: 'web' }] })).suspect).not.toBeNull();
});

test('what is said of another one, whose name begins in the same way, is none of a release', () => {
  const events = [event('FailedCreate', 'web-api-5f', 'violates PodSecurity "baseline:latest"')];
  expect(judgeRelease(seen([], { events })).suspect).toBeNull();
  const both = judgeRelease(seen([], { events, makers: [maker, { kind: 'Deployment', name: 'web-api' }] }));
  expect(both.suspect?.what).toBe('Deployment web-api');
});

test('pods of others are none of the release', () => {
  const broken = waiting('ErrImagePull', 'not found');
  expect(judgeRelease(seen([pod(broken)], { makers: [{ kind: 'Deployment', name: 'web-5f' }] })).suspect).toBeNull();
  expect(makerOf(pod(broken, { 'davit.installation': 'x' }))).toBeNull();
  const ofCron = {
    ...pod({}),
    metadata: { ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'tick-123', uid: 'u' }] },
  };
  expect(isMadeBy(ofCron, { kind: 'CronJob', name: 'tick' })).toBe(true);
  expect(isMadeBy(ofCron, { kind: 'CronJob', name: 'tic' })).toBe(false);
});

test('objects of the whole cluster, of other namespaces and of unknown kinds are outside', () => {
  const object = (apiVersion: string, kind: string, namespace: string | null = null): ChartObject => ({
    apiVersion,
    kind,
    name: 'a',
    namespace,
    saysScale: false,
  });
  const namespaced = new Set(['v1 Service', 'rbac.authorization.k8s.io/v1 Role']);
  const objects = [
    object('v1', 'Service'),
    object('v1', 'Service', 'mine'),
    object('v1', 'Service', 'kube-system'),
    object('rbac.authorization.k8s.io/v1', 'ClusterRole'),
    object('example.org/v1', 'Role'),
    object('rbac.authorization.k8s.io/v1', 'ClusterRole'),
  ];
  expect(outsideAmong(objects, namespaced, 'mine')).toEqual(['Service a in namespace kube-system', 'ClusterRole a', 'Role a']);
});
