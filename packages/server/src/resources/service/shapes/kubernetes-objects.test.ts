import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { faultsOf } from '../../../../../drivers/src/kubernetes/testing/schemas.ts';
import { violationsOf } from '../../../../../drivers/src/kubernetes/testing/violations.ts';
import { checkAnnotations } from '../../annotation-group/index.ts';
import { Problems } from '../../shared/problems.ts';
import { extremes, kubernetesObjectsOf } from './testing/kubernetes-objects.ts';
import { anyService, type TestService } from './testing.ts';

/*
 * A Kubernetes API server must accept the objects of every service that the API accepts.
 */

const clusterId = randomUUID();
const owner = {
  installation: randomUUID(),
  organization: randomUUID(),
  project: randomUUID(),
  environment: randomUUID(),
  service: randomUUID(),
};
const image = `registry.example.org/team/web@sha256:${'0'.repeat(64)}`;

/** Returns what Davit or an API server refuses. Empty if nothing. */
function refusals(service: TestService): string[] {
  const objects = kubernetesObjectsOf(service, { driver: clusterId, owner, image });
  if (typeof objects === 'string') return [objects];
  // The description of Kubernetes does not contain HTTPRoutes.
  const described = objects.filter(({ kind }) => kind !== 'HTTPRoute');
  return [...described.flatMap((object) => faultsOf(object)), ...objects.flatMap((object) => violationsOf(object))];
}

test.each(extremes)('a service with %s', (_name, service) => {
  expect(refusals(service)).toEqual([]);
});

test('services of random values', () => {
  const property = fc.property(anyService, (service) => {
    const found = refusals(service);
    // Sixty services that the API accepts.
    fc.pre(found[0]?.startsWith('API: ') !== true);
    // Two records may name one path, and public UDP ports depend on the cluster; the start refuses both with a hint.
    expect(found.filter((one) => !one.startsWith('START_FAILED'))).toEqual([]);
  });
  fc.assert(property, { numRuns: 60 });
});

test.each<readonly [string, TestService, string]>([
  [
    'more arguments than an API server stores',
    { request: { arguments: Array.from({ length: 150 }, () => 'x'.repeat(10_000)) } },
    'START_FAILED: Command, arguments and probes',
  ],
  [
    'files that no secret can hold',
    {
      request: {},
      variables: ['A', 'B', 'C'].map((key) => ({ key, value: 'x'.repeat(524_288), mountPath: `/opt/${key}` })),
    },
    'START_FAILED: The variables and files of the service have',
  ],
])('%s are refused with a hint before', (_name, service, words) => {
  expect(refusals(service)).toEqual([expect.stringContaining(words)]);
});

test('annotations of groups fit into an object, or are refused', () => {
  const annotations = Array.from({ length: 26 }, (_, index) => ({ key: `example.org/a${index}`, value: 'x'.repeat(10_000) }));
  const faults = (list: typeof annotations) => {
    const problems = new Problems();
    checkAnnotations(list, problems);
    return problems.found;
  };
  expect(faults(annotations.slice(1))).toEqual([]);
  expect(faults(annotations)).toMatchObject([{ path: 'annotations', message: expect.stringContaining('bytes') }]);
  const group = (id: string, own: typeof annotations) => ({
    id,
    created_at: '',
    name: id,
    annotations: own,
    scopes: ['PODS' as const],
  });
  const [a, b] = [randomUUID(), randomUUID()];
  const other = annotations.map(({ key, value }) => ({ key: `${key}-b`, value }));
  const request = (ids: string[]) => ({ annotations_groups: ids.map((id) => ({ id })) });
  const groups = {
    annotations: new Map([
      [a, group(a, annotations.slice(1))],
      [b, group(b, other.slice(1))],
    ]),
    labels: new Map(),
  };
  expect(refusals({ request: request([a]), groups })).toEqual([]);
  expect(refusals({ request: request([a, b]), groups })).toEqual([expect.stringContaining('START_FAILED: The annotations')]);
});

test('the rules find what an API server would refuse', () => {
  const metadata = { name: 'Web', labels: { 'a b': '-' }, annotations: { a: 'x'.repeat(262_144) } };
  const container = {
    name: 'main',
    image: 'x',
    env: [{ name: 'a b' }, { name: 'a b' }],
    ports: [{ containerPort: 0 }, { containerPort: 0 }],
    volumeMounts: [
      { name: 'v', mountPath: '/a:b' },
      { name: 'v', mountPath: '/a:b' },
    ],
    resources: { requests: { memory: '0Mi' } },
    livenessProbe: { periodSeconds: 0, successThreshold: 2 },
  };
  const spec = { template: { spec: { containers: [container], terminationGracePeriodSeconds: 2 ** 31 } } };
  const found = violationsOf({ kind: 'Deployment', metadata, spec }).join('\n');
  for (const part of [
    'name Web',
    'label a b',
    'value -',
    'bytes of annotations',
    'variable a b',
    'port 0',
    'two mounts',
    'two variables',
    'two equal ports',
    '/a:b',
    '0Mi',
  ])
    expect(found).toContain(part);
  for (const part of ['a number below 1', 'handlers', 'successThreshold', String(2 ** 31)]) expect(found).toContain(part);
  const cronJob = { kind: 'CronJob', metadata: { name: 'a'.repeat(53) }, spec: { jobTemplate: { spec } } };
  expect(violationsOf(cronJob).join('\n')).toMatch(/variable a b[^]*name too long/);
});
