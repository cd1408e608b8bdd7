import { expect, test } from 'vitest';
import { manifestDiff } from './diff.ts';
import { objectsOf } from './objects.ts';

const deployment = (image: string, more = '') => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: web, image: ${image}${more}}
`;
const secret = (text: string) => `---\napiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData: {password: ${text}}\n`;

test('what would change is told by object and field, and nothing of what may be secret', () => {
  const former =
    deployment('a:1', ', env: [{name: A, value: old}]') + secret('one') + '---\nkind: ConfigMap\nmetadata: {name: gone}\n';
  const next =
    deployment('a:2', ', env: [{name: A, value: new}]') +
    secret('two') +
    '---\nkind: Service\nmetadata: {name: new, namespace: x}\n';
  expect(manifestDiff(former, next)).toEqual([
    '~ Deployment web',
    '    spec.template.spec.containers[0].image: "a:1" -> "a:2"',
    '    spec.template.spec.containers[0].env[0].value: (changed)',
    '~ Secret web',
    '    stringData.password: (hidden)',
    '+ Service new in x',
    '- ConfigMap gone',
  ]);
  expect(manifestDiff(next, next)).toEqual([]);
  expect(manifestDiff('', secret('one'))).toEqual(['+ Secret web']);
});

test('a manifest names its objects, those inside of lists as well', () => {
  const list =
    '---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: n}}\n---\n# nothing\n';
  expect(
    objectsOf(
      `${deployment('a')}${list}---\nkind: StatefulSet\napiVersion: apps/v1\nmetadata: {name: s, namespace: z}\nspec: {replicas: 2}\n---\nkind: CronJob\napiVersion: batch/v1\nmetadata: {name: c}\nspec: {suspend: false}\n`,
    ),
  ).toEqual([
    { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: null, saysScale: false },
    { apiVersion: 'v1', kind: 'Namespace', name: 'n', namespace: null, saysScale: false },
    { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', namespace: 'z', saysScale: true },
    { apiVersion: 'batch/v1', kind: 'CronJob', name: 'c', namespace: null, saysScale: true },
  ]);
});
