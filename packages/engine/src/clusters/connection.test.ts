import { Sensitive } from '@davit/base';
import { createFakeCluster, DriverError, type TerraformDriver } from '@davit/drivers';
import { expect, test } from 'vitest';
import { noTerraform } from '../no-terraform.ts';
import { ClusterConnection } from './connection.ts';
import type { ClusterMaker } from './drivers.ts';

const fake = createFakeCluster();
const unasked = () => Promise.reject(new Error('not asked for here'));
const workshop = {
  driver: 'docker',
  set: { builder: null, carrier: null },
  source: fake.source,
  hooks: { imageDigest: unasked, imageName: unasked, registryCredentials: unasked },
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
