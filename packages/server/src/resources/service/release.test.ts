import type { AnnotationScope } from '@davit/contract';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { VariableRow } from '../variable/index.ts';
import { internalHosts, publicHost, serviceLabel } from './address.ts';
import { composeRelease, serviceBuiltIns } from './release.ts';
import type { ApplicationSpec } from './kinds/application.ts';
import type { ServiceFacts } from './rows.ts';
import { isPublicRouted, type PortSpec } from './shapes/ports.ts';
import { testInstallation } from './shapes/testing.ts';

const clusterId = 'a9f0a2c4-0000-4000-8000-000000000001';
const clusterSettings = { [clusterId]: { address: 'https://east.example.org' } };
const settings = { ...testInstallation, clusterSettings };
const at = '2026-01-01T00:00:00.000Z';
const port: PortSpec = {
  id: 'port',
  name: 'p80',
  internal_port: 80,
  external_port: 443,
  publicly_accessible: true,
  is_default: true,
  protocol: 'HTTP',
  public_path: null,
  public_path_rewrite: null,
};

function facts(changes: Partial<ServiceFacts> = {}, spec: Partial<ApplicationSpec> = {}): ServiceFacts {
  return {
    id: '1a2b3c4d-0000-4000-8000-000000000000',
    organization_id: 'o',
    project_id: 'p',
    environment_id: '5e6f7a8b-0000-4000-8000-000000000000',
    type: 'APPLICATION',
    name: 'Web Shop',
    created_at: at,
    updated_at: at,
    driver: 'docker',
    git_token_name: null,
    registry: null,
    chart: null,
    deployed_commit: { id: 'c0ffee' },
    project_created_at: at,
    environment_name: 'Production',
    environment_mode: 'PRODUCTION',
    environment_created_at: at,
    environment_deleting: false,
    cluster_id: '9c0d1e2f-0000-4000-8000-000000000000',
    cloud_provider: 'ON_PREMISE',
    region: 'local',
    stage_id: 's',
    stage_name: 'APPLICATION DEFAULT',
    stage_position: 3,
    is_skipped: false,
    databases: [],
    deleting: false,
    domains: [],
    ...changes,
    spec: {
      description: '',
      icon_uri: '',
      build_mode: 'DOCKER',
      dockerfile_path: './docker//Dockerfile',
      docker_target_build_stage: null,
      cpu: 500,
      memory: 512,
      gpu: 0,
      min_running_instances: 2,
      max_running_instances: 4,
      auto_preview: false,
      auto_deploy: false,
      arguments: ['--x'],
      entrypoint: `/bin/app -c 'a b'`,
      ports: [port],
      storage: [{ id: 'v', type: 'FAST_SSD', size: 4, mount_point: '/data/' }],
      healthchecks: { readiness_probe: null, liveness_probe: null },
      git_repository: {
        provider: 'GENERIC',
        owner: '',
        url: 'https://git.example.org/shop',
        name: 'shop',
        branch: 'main',
        root_path: '/',
        git_token_id: null,
      },
      ...spec,
    },
  };
}

test('a service becomes the plain data that the engine runs', () => {
  const { config, derived } = composeRelease(facts(), [], settings);
  expect(derived).toEqual([]);
  expect(config).toMatchObject({
    name: 'Web Shop',
    source: { url: 'https://git.example.org/shop', branch: 'main', dockerfilePath: 'docker/Dockerfile' },
    entrypoint: ['/bin/app', '-c', 'a b'],
    arguments: ['--x'],
    volumes: [{ id: 'v', mountPath: '/data', sizeGiB: 4 }],
    hostnames: ['app-z1a2b3c4d'],
    instances: 2,
    ports: [
      {
        internalPort: 80,
        externalPort: null,
        public: true,
        hosts: ['web-shop-production-1a2b3c4d.apps.example.org'],
        pathPrefix: '/',
        pathRewrite: null,
      },
    ],
  });
  expect(Object.fromEntries(config.environment.map(({ name, parts }) => [name, parts[0]]))).toMatchObject({
    DAVIT_APPLICATION_NAME: 'Web Shop',
    DAVIT_APPLICATION_Z1A2B3C4D_HOST_INTERNAL: 'app-z1a2b3c4d',
    DAVIT_APPLICATION_Z1A2B3C4D_HOST_EXTERNAL: 'web-shop-production-1a2b3c4d.apps.example.org:4480',
    DAVIT_APPLICATION_Z1A2B3C4D_GIT_BRANCH: 'main',
    DAVIT_ENVIRONMENT_TYPE: 'PRODUCTION',
    DAVIT_KUBERNETES_NAMESPACE_NAME: 'z5e6f7a8b-Production',
  });
});

test('on a Kubernetes cluster a service answers where that has its address, and has no port of a machine', () => {
  const ports = [port, { ...port, id: 'd', name: 'p5432', internal_port: 5432, protocol: 'TCP' as const, is_default: false }];
  const { config } = composeRelease(facts({ driver: clusterId, domains: ['shop.example.com'] }, { ports }), [], settings);
  expect(config.ports).toMatchObject([
    { hosts: ['web-shop-production-1a2b3c4d.east.example.org'], customHosts: ['shop.example.com'], externalPort: null },
    { hosts: [], externalPort: null, public: true },
  ]);
  const values = new Map(config.environment.map(({ name, parts }) => [name, parts[0]]));
  expect(values.get('DAVIT_APPLICATION_Z1A2B3C4D_HOST_EXTERNAL')).toBe('web-shop-production-1a2b3c4d.east.example.org');
});

test('on a Kubernetes cluster without an address nothing of a service is led in from outside', () => {
  const other = 'a9f0a2c4-0000-4000-8000-000000000002';
  const { config } = composeRelease(facts({ driver: other, domains: ['shop.example.com'] }), [], settings);
  expect(config.ports).toMatchObject([{ hosts: [], externalPort: null, public: true }]);
  expect(config.ports[0]).not.toHaveProperty('customHosts');
  expect(config.environment.some(({ name }) => name.endsWith('HOST_EXTERNAL'))).toBe(false);
});

test('on a Kubernetes cluster the groups of a service are part of its release, by the objects that they are for', () => {
  const group = (id: string, annotations: { key: string; value: string }[], scopes: AnnotationScope[]) =>
    [id, { id, created_at: at, name: id, annotations, scopes }] as const;
  const labels = [
    { key: 'team', value: 'shop', propagate_to_cloud_provider: false },
    { key: 'tier', value: 'web', propagate_to_cloud_provider: true },
  ];
  const groups = {
    annotations: new Map([
      group('a', [{ key: 'example.org/a', value: '1' }], ['PODS', 'INGRESS', 'HPA']),
      group('b', [{ key: 'example.org/a', value: '2' }], ['INGRESS']),
    ]),
    labels: new Map([['l', { id: 'l', created_at: at, name: 'l', labels }]]),
  };
  const spec = { annotations_groups: ['a', 'b'], labels_groups: ['l'] };
  const metadata = (driver: string) => composeRelease(facts({ driver }, spec), [], settings, groups).config.metadata;
  expect(metadata(clusterId)).toEqual({
    labels: { team: 'shop', tier: 'web' },
    annotations: {
      Pod: { 'example.org/a': '1' },
      Ingress: { 'example.org/a': '2' },
      HorizontalPodAutoscaler: { 'example.org/a': '1' },
    },
  });
  expect(metadata('docker')).toBeUndefined();
  expect(composeRelease(facts({ driver: clusterId }), [], settings, groups).config).not.toHaveProperty('metadata');
});

test('the deployed commit is shown to people and is no part of the configuration', () => {
  const commit = serviceBuiltIns(facts(), settings).find(({ name }) => name.endsWith('GIT_COMMIT_ID'));
  expect(commit).toMatchObject({ key: 'DAVIT_APPLICATION_Z1A2B3C4D_GIT_COMMIT_ID', value: 'c0ffee' });
  const release = (id: string): unknown => composeRelease(facts({ deployed_commit: { id } }), [], settings);
  expect(release('a')).toEqual(release('b'));
});

test('what is no part of what runs does not change the configuration', () => {
  const changed = facts(
    { updated_at: '2027-01-01T00:00:00.000Z', stage_name: 'x', stage_position: 9, is_skipped: true, git_token_name: 'y' },
    { description: 'new', icon_uri: 'new', auto_deploy: true, auto_preview: true },
  );
  expect(composeRelease(changed, [], settings)).toEqual(composeRelease(facts(), [], settings));
});

test('between two numbers of instances a release scales, by settings; without a minimum it does not', () => {
  const release = (spec: object) => composeRelease(facts({}, { storage: [], ...spec }), [], settings).config;
  expect(release({})).toMatchObject({ instances: 2, scaling: { most: 4, cpuPercent: 60, memoryPercent: null } });
  const advanced_settings = { 'hpa.cpu.average_utilization_percent': 40, 'hpa.memory.average_utilization_percent': 80 };
  expect(release({ max_running_instances: -1, advanced_settings }).scaling).toEqual({
    most: null,
    cpuPercent: 40,
    memoryPercent: 80,
  });
  for (const spec of [{ max_running_instances: 2 }, { min_running_instances: 0 }])
    expect(release(spec)).not.toHaveProperty('scaling');
});

test('with autoscaling a release scales by events, also from nothing; with no scaler enabled as if there were none', () => {
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' };
  const scaler = { id: 's', ...times, scaler_type: 'cron', role: 'PRIMARY', config_json: null, config_yaml: 'a: 1' } as const;
  const release = (enabled: boolean, id = 'a') => {
    const scalers = [{ ...scaler, enabled, trigger_authentication: null }];
    const autoscaling = {
      id,
      ...times,
      mode: 'KEDA' as const,
      polling_interval_seconds: 5,
      cooldown_period_seconds: 60,
      scalers,
    };
    const spec = { storage: [], min_running_instances: 0, max_running_instances: 2, autoscaling };
    return composeRelease(facts({}, spec), [], settings).config;
  };
  const events = { pollingSeconds: 5, cooldownSeconds: 60, triggers: [{ type: 'cron', metadata: { a: '1' } }] };
  expect(release(true)).toMatchObject({ instances: 0, scaling: { most: 2, events } });
  expect(release(false)).not.toHaveProperty('scaling');
  expect(release(true, 'b')).toEqual(release(true));
});

test('ids of built-in variables stay when names change, and differ between services only for what tells of the service', () => {
  const ids = (changes: Partial<ServiceFacts>, isOfService?: boolean): string[] =>
    serviceBuiltIns(facts(changes), settings)
      .filter(({ owner }) => isOfService === undefined || isOfService === (owner !== null))
      .map(({ id }) => id);
  expect(ids({ name: 'other', environment_name: 'other' })).toEqual(ids({}));
  expect(new Set(ids({})).size).toBe(ids({}).length);
  const other = { id: '00000000-0000-4000-8000-000000000001' };
  expect(ids(other, false)).toEqual(ids({}, false));
  expect(ids(other, true).filter((id) => ids({}, true).includes(id))).toEqual([]);
});

test('a public port of the machine has no host names, a private port no address at all', () => {
  const ports = [
    { ...port, protocol: 'TCP' as const, external_port: 9000, is_default: false },
    { ...port, publicly_accessible: false, is_default: false },
  ];
  expect(composeRelease(facts({}, { ports }), [], settings).config.ports).toMatchObject([
    { public: true, externalPort: 9000, hosts: [] },
    { public: false, externalPort: null, hosts: [] },
  ]);
  expect(serviceBuiltIns(facts({}, { ports }), settings).some(({ name }) => name.endsWith('HOST_EXTERNAL'))).toBe(false);
  expect(ports.some(isPublicRouted)).toBe(false);
});

test('a service named like a host is reached by that name too', () => {
  const hosts = (serviceName: string): readonly string[] => internalHosts({ serviceName }, 'app-z1a2b3c4d');
  expect(hosts('API')).toEqual(['app-z1a2b3c4d', 'api']);
  for (const name of ['a b', '-a', 'localhost', '80', 'a.b', 'ä', 'x'.repeat(64)]) expect(hosts(name)).toEqual(['app-z1a2b3c4d']);
});

test('addresses are host names for any names of service, environment and port', () => {
  const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.uuid(),
      (serviceName, environmentName, serviceId) => {
        const service = { serviceId, serviceName, environmentName };
        const host = publicHost(service, { name: `p${serviceName}`, isDefault: false }, 'localhost');
        expect(host.split('.')[0]).toMatch(label);
        expect(serviceLabel(service)).toMatch(label);
      },
    ),
  );
});

test('names that differ only in what a host name cannot have lead to different addresses', () => {
  const one = serviceLabel({ serviceId: '11111111-0000-4000-8000-000000000000', serviceName: 'a b', environmentName: 'c' });
  const two = serviceLabel({ serviceId: '22222222-0000-4000-8000-000000000000', serviceName: 'a', environmentName: 'b-c' });
  expect([one, two]).toEqual(['a-b-c-11111111', 'a-b-c-22222222']);
});

test('variables at the service end in the environment of the process', () => {
  const row: VariableRow = {
    id: 'v',
    project_id: null,
    environment_id: null,
    service_id: 's',
    key: 'GREETING',
    type: 'VALUE',
    is_secret: false,
    value: 'hello {{DAVIT_APPLICATION_NAME}}',
    secret_value_id: null,
    reference_keys: null,
    target_id: null,
    target_builtin: null,
    mount_path: null,
    description: null,
    enable_interpolation_in_file: null,
    created_at: at,
    updated_at: at,
  };
  expect(composeRelease(facts(), [row], settings).config.environment).toContainEqual({
    name: 'GREETING',
    parts: ['hello Web Shop'],
  });
});
