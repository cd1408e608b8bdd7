import { describe, expect, test } from 'vitest';
import { judgeUpgrade, plansFor, type Plan } from './upgrades.ts';

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

describe('what Plans and running versions say', () => {
  const [older, here, later] = ['v1.36.1+k3s1', 'v1.36.2+k3s1', 'v1.36.3+k3s1'];
  const plan = (version: string, conditions: NonNullable<Plan['status']>['conditions'] = []): Plan => ({
    metadata: { name: 'davit-servers' },
    spec: { version },
    status: { conditions },
  });
  const none = { next: null, hindrance: null, underWay: null, failure: null };

  test('nothing was begun: the next one is the one that is set, unless all of it has that', () => {
    expect(judgeUpgrade([], [here, here], later)).toEqual({ ...none, next: '1.36.3+k3s1' });
    expect(judgeUpgrade([], [here, here], here)).toEqual(none);
    expect(judgeUpgrade([], [later, here], here)).toEqual({
      ...none,
      hindrance: expect.stringContaining('cannot be downgraded'),
    });
  });

  test('it is under way until every node has the version of the Plans', () => {
    const plans = [plan(later), plan(later)];
    expect(judgeUpgrade(plans, [later, here], later)).toEqual({ ...none, underWay: '1.36.3+k3s1' });
    expect(judgeUpgrade(plans, [later, later], later)).toEqual(none);
  });

  test('a version that cannot be had gives way to the one that is set then', () => {
    const failed = [{ type: 'Complete', status: 'False', reason: 'JobFailed', message: 'no such image' }];
    const plans = [plan('v1.36.33+k3s1', failed), plan('v1.36.33+k3s1')];
    const stuck = { ...none, underWay: '1.36.33+k3s1', failure: 'davit-servers: JobFailed: no such image' };
    expect(judgeUpgrade(plans, [here, here], 'v1.36.33+k3s1')).toEqual(stuck);
    expect(judgeUpgrade(plans, [here, here], later)).toEqual({ ...stuck, next: '1.36.3+k3s1' });
  });

  test('the Plan of the servers alone is written again with that of the agents', () => {
    expect(judgeUpgrade([plan(later)], [here, here], later)).toMatchObject({ next: '1.36.3+k3s1' });
    expect(judgeUpgrade([plan(later), plan(here)], [here, here], later)).toMatchObject({ next: '1.36.3+k3s1' });
  });

  test('what was upgraded by hand since is not waited for', () => {
    expect(judgeUpgrade([plan(older), plan(older)], [here, here], here)).toEqual(none);
    expect(judgeUpgrade([plan(older), plan(older)], [here, here], later)).toEqual({ ...none, next: '1.36.3+k3s1' });
  });
});
