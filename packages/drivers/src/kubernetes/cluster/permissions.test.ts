import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { faultsOf } from '../testing/schemas.ts';
import { permissions } from './permissions.ts';
import { roleObjects, roleRules } from './role.ts';

test('the role that operators are shown is what Davit asks a cluster for', () => {
  const text = readFileSync(new URL('../../../../../docs/kubernetes.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
  expect(load(yaml)).toEqual({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'davit' },
    rules: roleRules(),
  });
  const reported = roleRules().map(({ apiGroups, resources, verbs }) => [apiGroups, resources, verbs]);
  expect(reported).toEqual(permissions.map(({ group, resource, verbs }) => [[group], [resource], verbs]));
});

test('the manifest binds one service account to that role, and nothing to everything', () => {
  const objects = roleObjects({ namespace: 'shipyard', name: 'dock' });
  expect(objects.map(({ kind }) => kind)).toEqual([
    'Namespace',
    'ServiceAccount',
    'ClusterRole',
    'ClusterRoleBinding',
    'CustomResourceDefinition',
  ]);
  expect(objects.flatMap(faultsOf)).toEqual([]);
  expect(objects[3]).toMatchObject({
    roleRef: { name: 'dock' },
    subjects: [{ kind: 'ServiceAccount', name: 'dock', namespace: 'shipyard' }],
  });
  expect(JSON.stringify(objects)).not.toContain('*');
});
