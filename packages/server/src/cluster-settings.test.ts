import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { clusterEndpoint, clustersOfServiceAccount, readClusterSettings, settingsOf } from './cluster-settings.ts';
import { readConfiguration } from './main/config.ts';

const folder = mkdtempSync(join(tmpdir(), 'davit-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const east = '2f1c7b1e-4c1f-4c59-9d3e-0d1f6b1f3a10';
const west = '2f1c7b1e-4c1f-4c59-9d3e-0d1f6b1f3a11';

function file(content: unknown): string {
  const name = join(folder, 'clusters.json');
  writeFileSync(name, typeof content === 'string' ? content : JSON.stringify(content));
  return name;
}

const faultOf = (content: unknown): string | null => readClusterSettings(file(content)).fault;

test('a cluster has what is set for it, and what is set for all where it has nothing of its own', () => {
  const { table, fault } = readClusterSettings(
    file({ '*': { pod_security: 'restricted', linger_seconds: 1 }, [east]: { linger_seconds: 9, storage_class: 'fast' } }),
  );
  expect(fault).toBeNull();
  expect(settingsOf(table, east)).toEqual({ pod_security: 'restricted', linger_seconds: 9, storage_class: 'fast' });
  expect(settingsOf(table, west)).toEqual({ pod_security: 'restricted', linger_seconds: 1 });
});

test('only a cluster that is named is let onto the cluster of Davit itself', () => {
  const { table, fault } = readClusterSettings(file({ [east]: { in_cluster: true }, [west]: { in_cluster: false } }));
  expect(fault).toBeNull();
  expect(clustersOfServiceAccount(table)).toEqual([east]);
  expect(faultOf({ '*': { in_cluster: true } })).toContain(
    '*.in_cluster is a setting of a single cluster: set it under the id of that cluster',
  );
});

test.each([
  ['https://apps.example.org', { domain: 'apps.example.org', scheme: 'https', port: 443 }],
  ['http://apps.example.org/', { domain: 'apps.example.org', scheme: 'http', port: 80 }],
  ['https://apps.example.org:8443', { domain: 'apps.example.org', scheme: 'https', port: 8443 }],
])('%s is where requests come in', (address, door) => {
  const { table } = readClusterSettings(file({ [east]: { address } }));
  expect(clusterEndpoint(table, east)).toEqual(door);
  expect(clusterEndpoint(table, west)).toBeNull();
});

test.each([
  ['no JSON', '{', 'is not JSON'],
  ['a name in place of an id', { east: {} }, 'property name'],
  ['an unknown member', { [east]: { adress: 'x' } }, `${east} has the unknown property adress`],
  ['another word', { [east]: { pod_security: 'privileged' } }, `${east}.pod_security`],
  ['another place of builds', { [east]: { builds: 'here' } }, `${east}.builds`],
  ['another isolation of builds', { [east]: { build_isolation: 'none' } }, `${east}.build_isolation`],
  ['an address in place of a registry', { [east]: { http_registries: ['http://lan:5000'] } }, `${east}.http_registries`],
  ['an address for all', { '*': { address: 'https://apps.example.org' } }, '*.address is a setting of a single cluster'],
  ['an address with a path', { [east]: { address: 'https://apps.example.org/x' } }, 'must be an http or https address'],
  ['a bare address of a machine', { [east]: { address: 'https://192.0.2.1' } }, 'must be an http or https address'],
  ['one with a password', { [east]: { address: 'https://u:p@apps.example.org' } }, 'must be an http or https address'],
  ['another scheme', { [east]: { address: 'ftp://apps.example.org' } }, 'must be an http or https address'],
  ['an address of Davit with a password', { '*': { davit_address: 'http://u:p@davit' } }, '*.davit_address'],
  ['an address of Davit that is none', { '*': { davit_address: 'davit:4440' } }, '*.davit_address'],
  ['a Gateway without a namespace', { [east]: { gateway: 'public' } }, `${east}.gateway`],
  [
    'an issuer beside a Gateway',
    { [east]: { gateway: 'infra/public', certificate_issuer: 'letsencrypt' } },
    `${east}.certificate_issuer applies to Ingresses`,
  ],
  ['a registry by another word than its id', { [east]: { image_registry: 'own' } }, `${east}.image_registry`],
  [
    'a record to pull with and none to push',
    { [east]: { image_pull_registry: west } },
    `${east}.image_pull_registry names the same registry as image_registry`,
  ],
  [
    'two clusters at one domain',
    { [east]: { address: 'https://apps.example.org' }, [west]: { address: 'http://apps.example.org' } },
    'which is the domain of another cluster already',
  ],
])('%s is told', (_name, content, fault) => {
  expect(faultOf(content)).toContain(fault);
});

test('a file that is not there, and the domain of the gateway, are told at the start', () => {
  expect(() => readConfiguration({ DAVIT_CLUSTER_SETTINGS: join(folder, 'none.json') })).toThrow(
    'DAVIT_CLUSTER_SETTINGS names a file that cannot be read',
  );
  const taken = file({ [east]: { address: 'https://apps.example.org' } });
  expect(() => readConfiguration({ DAVIT_CLUSTER_SETTINGS: taken, DAVIT_GATEWAY_DOMAIN: 'apps.example.org' })).toThrow(
    'which is the domain of the gateway',
  );
  expect(Object.keys(readConfiguration({ DAVIT_CLUSTER_SETTINGS: taken }).clusterSettings)).toEqual([east]);
});
