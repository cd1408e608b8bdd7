import { Sensitive } from '@davit/base';
import { createFakeCluster, DriverError, type TerraformDriver } from '@davit/drivers';
import { expect, test } from 'vitest';
import { noTerraform } from '../kinds/terraform/no-terraform.ts';
import { ClusterConnection } from './connection.ts';
import type { ClusterMaker } from '../shared/cluster-drivers.ts';

const fake = createFakeCluster();
const notRequested = () => Promise.reject(new Error('not asked for here'));
const workshop = {
  driver: 'docker',
  set: { builder: null, carrier: null },
  source: fake.source,
  hooks: { imageDigest: notRequested, imageName: notRequested, registryCredentials: notRequested },
};
const access = { id: 'a9f0a2c4-0000-4000-8000-000000000001', name: 'rack', version: '1', kubeconfig: new Sensitive('text') };
const terraformOn = (make: ClusterMaker): TerraformDriver | undefined =>
  new ClusterConnection(access, make, workshop).set.terraform;

test('a cluster runs Terraform itself where its maker says so', () => {
  expect(terraformOn(() => ({ cluster: fake.cluster, terraform: () => noTerraform }))).toBe(noTerraform);
  expect(terraformOn(() => ({ cluster: fake.cluster }))).toBeUndefined();
});

test('Terraform of a cluster whose credentials cannot be used does not run elsewhere', () => {
  const make: ClusterMaker = () => {
    throw new DriverError({ cause: 'CLUSTER_ACCESS_INVALID', message: 'it is no kubeconfig' });
  };
  expect(() => terraformOn(make)).toThrow('it is no kubeconfig');
});

test('what is known without asking a cluster does not say that it answers', async () => {
  const make: ClusterMaker = () => ({
    cluster: {
      ...fake.cluster,
      describe: () => Promise.reject(new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'refused', retryable: true })),
      probe: () => Promise.resolve(null),
    },
  });
  const connection = new ClusterConnection(access, make, workshop);
  const { signal } = new AbortController();
  await connection.state(signal);
  expect(connection.awayFor).toBeGreaterThan(0);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- this cluster looks at none of it
  const nothing = {} as unknown as Parameters<typeof fake.cluster.probe>;
  await connection.set.cluster.probe(nothing[0], nothing[1], 'liveness', signal);
  expect(connection.awayFor).toBeGreaterThan(0);
});

test('a cluster that another record has is not worked with, until that one lets go of it', async () => {
  const { signal } = new AbortController();
  let holder: string | null = 'the cluster shelf';
  const claimed: string[] = [];
  let observed = 0;
  const make: ClusterMaker = () => ({
    cluster: {
      ...fake.cluster,
      identity: () => Promise.resolve('uid-1'),
      observe: () => {
        observed += 1;
        return Promise.resolve([]);
      },
    },
  });
  const connection = new ClusterConnection(access, make, workshop, (identity) => {
    claimed.push(identity);
    return Promise.resolve(holder);
  });
  const { cluster } = connection.set;
  await expect(cluster.observe({}, signal)).rejects.toMatchObject({
    code: 'CLUSTER_ACCESS_INVALID',
    message: expect.stringContaining('the same Kubernetes as the cluster shelf'),
  });
  expect((await connection.state(signal)).failure).toMatchObject({ code: 'CLUSTER_ACCESS_INVALID' });
  expect(observed).toBe(0);
  holder = null;
  await Promise.all([cluster.observe({}, signal), cluster.observe({}, signal)]);
  await cluster.observe({}, signal);
  expect(observed).toBe(3);
  const requested = claimed.length;
  await cluster.observe({}, signal);
  expect(claimed).toHaveLength(requested);
  connection.renew({ ...access, version: '2' });
  await cluster.observe({}, signal);
  expect(claimed).toHaveLength(requested + 1);
});

test('what an account lacks is told also where it may not even see what there is', async () => {
  const denied = new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'nodes is forbidden' });
  const lacking = (missing: readonly string[]): ClusterMaker => {
    return () => ({
      cluster: {
        ...fake.cluster,
        describe: () => Promise.reject(denied),
        missingPermissions: () => Promise.resolve(missing),
      },
    });
  };
  const stateOf = (make: ClusterMaker) => new ClusterConnection(access, make, workshop).state(new AbortController().signal);
  expect(await stateOf(lacking(['list nodes']))).toMatchObject({
    facts: null,
    failure: null,
    missingPermissions: ['list nodes'],
  });
  expect(await stateOf(lacking([]))).toMatchObject({ failure: { code: 'CLUSTER_ACCESS_DENIED' }, missingPermissions: [] });
});
