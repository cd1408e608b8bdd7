import { expect, test } from 'vitest';
import { plansFor } from './upgrades.ts';

test('servers are upgraded before agents, one node at a time', () => {
  const [servers, agents] = plansFor('1.36.2+k3s1', 'here');
  const common = { concurrency: 1, cordon: true, version: 'v1.36.2+k3s1', upgrade: { image: 'rancher/k3s-upgrade' } };
  expect(servers).toMatchObject({
    kind: 'Plan',
    metadata: { name: 'davit-servers', namespace: 'system-upgrade', labels: { 'davit.installation': 'here' } },
    spec: { ...common, nodeSelector: { matchExpressions: [{ operator: 'In', values: ['true'] }] } },
  });
  expect(servers).not.toHaveProperty('spec.prepare');
  expect(agents).toMatchObject({
    metadata: { name: 'davit-agents' },
    spec: {
      ...common,
      nodeSelector: { matchExpressions: [{ operator: 'DoesNotExist' }] },
      prepare: { image: 'rancher/k3s-upgrade', args: ['prepare', 'davit-servers'] },
    },
  });
});

test('the image is that of the distribution', () => {
  expect(plansFor('v1.36.2+rke2r1', 'here')[0]).toMatchObject({ spec: { upgrade: { image: 'rancher/rke2-upgrade' } } });
});
