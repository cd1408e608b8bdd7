import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { permissions } from './permissions.ts';

interface Role {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

test('the role that operators are told to make is what Davit does', () => {
  const text = readFileSync(new URL('../../../../docs/kubernetes.md', import.meta.url), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
  const { rules } = load(yaml) as Role; // oxlint-disable-line typescript/no-unsafe-type-assertion -- what is in it is compared
  const told = rules.map(({ apiGroups: [group], resources: [resource], verbs }) => ({ group, resource, verbs }));
  expect(told).toEqual([...permissions, { group: 'metrics.k8s.io', resource: 'pods', verbs: ['list'] }]);
});
