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
    '    spec.template.spec.containers[0].env[0].value: (hidden)',
    '~ Secret web',
    '    stringData.password: (hidden)',
    '+ Service new in x',
    '- ConfigMap gone',
  ]);
  expect(manifestDiff(next, next)).toEqual([]);
  expect(manifestDiff('', secret('one'))).toEqual(['+ Secret web']);
});

test('nothing below env is told, be it new or of a new container', () => {
  const former = deployment('a', ', env: [{name: A, value: old}]');
  const more = deployment('a', ', env: [{name: A, value: old}, {name: B, value: sesame}]');
  expect(manifestDiff(former, more)).toEqual(['~ Deployment web', '    spec.template.spec.containers[0].env[1]: (hidden)']);
  const first = manifestDiff(deployment('a'), former);
  expect(first).toEqual(['~ Deployment web', '    spec.template.spec.containers[0].env: (hidden)']);
  const another = `${deployment('a')}      - {name: two, image: b, env: [{name: A, value: sesame}]}\n`;
  const second = manifestDiff(deployment('a'), another);
  expect(second).toEqual([
    '~ Deployment web',
    '    spec.template.spec.containers[1]: (none) -> {"name":"two","image":"b","env":"(hidden)"}',
  ]);
});

test('a Secret inside of a list or of another object is one', () => {
  const list = (text: string) => `kind: List\nitems:\n- {kind: Secret, metadata: {name: a}, data: {k: ${text}}}\n`;
  expect(manifestDiff(list('one'), list('two'))).toEqual(['~ Secret a', '    data.k: (hidden)']);
  const inside = (text: string) => `kind: Bundle\nmetadata: {name: b}\nspec: {of: {kind: Secret, data: {k: ${text}}}}\n`;
  expect(manifestDiff(inside('one'), inside('two'))).toEqual(['~ Bundle b', '    spec.of.data.k: (hidden)']);
});

test('a value is told whole or not at all', () => {
  const map = (text: string) => `kind: ConfigMap\nmetadata: {name: c}\ndata: {k: ${text}}\n`;
  const [some, much] = ['s'.repeat(500), 'm'.repeat(2_000)];
  expect(manifestDiff(map(some), map(much))).toEqual(['~ ConfigMap c', `    data.k: "${some}" -> (2002 characters)`]);
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
