import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parseDatabaseCatalogue } from '../../../catalogue/databases.ts';
import { Problems } from '../../shared/problems.ts';
import type { CreateRequest, EditRequest, PortRequest } from '../shapes/request.ts';
import { editedApplication, newApplication, toApplicationRecord, type ApplicationSpec } from './application.ts';
import type { SpecRules } from '../spec.ts';

const databases = parseDatabaseCatalogue(await readFile(new URL('../../../../data/databases.json', import.meta.url), 'utf8'), '');
const caps = { cpuMillicores: 2000, memoryMiB: 4096 };
const minimal: CreateRequest = {
  name: 'web',
  dockerfile_path: 'Dockerfile',
  git_repository: { url: 'https://github.com/acme/shop.git' },
};
const port = (internal_port: number, more: Partial<PortRequest> = {}): PortRequest => ({
  internal_port,
  publicly_accessible: true,
  ...more,
});

function rules(changes: Partial<SpecRules> = {}): SpecRules {
  const reserved = new Map([[4480, 'the gateway of Davit']]);
  const given = { problems: new Problems(), caps, reserved, allowLocalRepositories: false, autoPreview: true };
  return { ...given, databases, isInstalled: false, scalesByEvents: true, newSecret: () => '', ...changes };
}

/** Returns the errors of a request, as `path: message`. */
function faults(request: Partial<CreateRequest>, changes: Partial<SpecRules> = {}): string[] {
  const all = rules(changes);
  newApplication({ ...minimal, ...request }, all);
  return all.problems.found.map(({ path, message }) => `${path}: ${message}`);
}

function made(request: Partial<CreateRequest> = {}): ApplicationSpec {
  const all = rules();
  const spec = newApplication({ ...minimal, ...request }, all);
  expect(all.problems.found).toEqual([]);
  return spec;
}

function edited(former: ApplicationSpec, request: EditRequest): ApplicationSpec {
  const all = rules();
  const spec = editedApplication(request, former, all);
  expect(all.problems.found).toEqual([]);
  return spec;
}

function faultsOfEdit(former: ApplicationSpec, request: EditRequest): string[] {
  const all = rules();
  editedApplication(request, former, all);
  return all.problems.found.map(({ path, message }) => `${path}: ${message}`);
}

test('a new application has the documented defaults', () => {
  expect(made()).toEqual({
    description: '',
    icon_uri: 'app://davit-console/application',
    build_mode: 'DOCKER',
    dockerfile_path: 'Dockerfile',
    docker_target_build_stage: null,
    cpu: 500,
    memory: 512,
    gpu: 0,
    min_running_instances: 1,
    max_running_instances: 1,
    auto_preview: true,
    auto_deploy: false,
    arguments: [],
    entrypoint: null,
    ports: [],
    storage: [],
    healthchecks: { readiness_probe: null, liveness_probe: null },
    git_repository: {
      provider: 'HOSTA',
      owner: 'acme',
      url: 'https://github.com/acme/shop.git',
      name: 'shop',
      branch: null,
      root_path: '/',
      git_token_id: null,
    },
  });
});

test('an edit with nothing in it changes nothing', () => {
  const former = made({
    ports: [port(80), port(90, { protocol: 'TCP', external_port: 9000 })],
    storage: [{ type: 'FAST_SSD', size: 4, mount_point: '/data' }],
    entrypoint: 'sh -c "x y"',
    healthchecks: { readiness_probe: { type: { tcp: { port: 80 } } } },
  });
  expect(edited(former, {})).toEqual(former);
});

test('an edit that sends back what it read changes nothing', () => {
  const spec = made({ ports: [port(80, { public_path: '/a' })], storage: [{ type: 'FAST_SSD', size: 4, mount_point: '/data' }] });
  const row = { id: 'i', organization_id: 'o', environment_id: 'e', type: 'APPLICATION', name: 'web', driver: 'docker', spec };
  const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' };
  const { git_repository, annotations_groups, labels_groups, ...record } = toApplicationRecord(
    { ...row, ...times, git_token_name: null, registry: null, chart: null, deployed_commit: null },
    caps,
  );
  expect([annotations_groups, labels_groups]).toEqual([[], []]);
  expect(edited(spec, { ...record, git_repository: { ...git_repository, url: git_repository?.url ?? '' } })).toEqual(spec);
});

test('null empties what can be empty and leaves the rest', () => {
  const former = made({
    description: 'x',
    entrypoint: 'run',
    docker_target_build_stage: 'prod',
    dockerfile_path: 'a/Dockerfile',
    cpu: 700,
  });
  const spec = edited(former, {
    description: null,
    entrypoint: null,
    docker_target_build_stage: null,
    cpu: null,
  });
  expect(spec).toMatchObject({
    description: '',
    entrypoint: null,
    docker_target_build_stage: null,
    cpu: 700,
  });
});

describe('ports', () => {
  test('keep their ids when they are sent without, by port and protocol', () => {
    const former = made({ ports: [port(80), port(90)] });
    const spec = edited(former, { ports: [port(90), port(80), port(80, { protocol: 'TCP', external_port: 8080 })] });
    expect(spec.ports.map(({ id }) => id).slice(0, 2)).toEqual([former.ports[1]?.id, former.ports[0]?.id]);
    expect(former.ports.map(({ id }) => id)).not.toContain(spec.ports[2]?.id);
  });

  test('an id moves with its entry even when the port changes', () => {
    const former = made({ ports: [port(80), port(90)] });
    const spec = edited(former, { ports: [port(81, { id: former.ports[0]?.id ?? null }), port(80)] });
    expect(spec.ports[0]?.id).toBe(former.ports[0]?.id);
    expect(spec.ports[1]?.id).not.toBe(former.ports[0]?.id);
  });

  test('refuse an id that is not of this service, and one that is there twice', () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expect(faults({ ports: [port(80, { id })] })).toEqual([
      'ports.0.id: is not the id of a port of this service; leave it out for a new port',
    ]);
    const former = made({ ports: [port(80)] });
    const own = former.ports[0]?.id ?? null;
    expect(faultsOfEdit(former, { ports: [port(80, { id: own }), port(81, { id: own })] })).toEqual([
      'ports.1.id: names the same port as another entry',
    ]);
  });

  test('have names, protocol and external port by default, and one default port', () => {
    const { ports } = made({ ports: [port(53, { publicly_accessible: false }), port(80), port(81)] });
    expect(ports.map(({ name, protocol, external_port, is_default }) => [name, protocol, external_port, is_default])).toEqual([
      ['p53', 'HTTP', null, false],
      ['p80', 'HTTP', 443, true],
      ['p81', 'HTTP', 443, false],
    ]);
  });

  test('name everything that is wrong at once', () => {
    const ports = [
      port(80, { is_default: true }),
      port(80),
      port(81, { is_default: true, public_path: '/../x' }),
      port(82, { protocol: 'TCP' }),
      port(83, { protocol: 'UDP', external_port: 53, public_path: '/x' }),
      port(84, { protocol: 'TCP', external_port: 4480 }),
      port(85, { name: '***' }),
    ];
    expect(faults({ ports })).toEqual([
      'ports.2.public_path: must be a path of letters, digits and . _ ~ ! & * + = : @ / - (others percent-encoded), without ..',
      'ports.3.external_port: is needed for a public TCP port: the port of this machine that it answers on',
      'ports.4.public_path: is only for HTTP and GRPC ports; leave it out for UDP',
      'ports.5.external_port: is used by the gateway of Davit; choose another port',
      'ports.6.name: must contain a letter or digit, as it becomes part of a host name',
      'ports.1.internal_port: is the same port and protocol as ports.0; declare each once',
      'ports.1.name: leads to the same address as ports.0; give each public port a name of its own',
      'ports.2.is_default: may be true for one public port only; ports.0 has it already',
    ]);
  });

  test('two of a service cannot answer on one port of the machine, but TCP and UDP can', () => {
    const tcp = port(1, { protocol: 'TCP', external_port: 9000 });
    expect(faults({ ports: [tcp, port(2, { protocol: 'UDP', external_port: 9000 })] })).toEqual([]);
    expect(faults({ ports: [tcp, port(2, { protocol: 'TCP', external_port: 9000 })] })).toEqual([
      'ports.1.external_port: is taken by ports.0; choose another port',
    ]);
  });
});

describe('storage', () => {
  const storage = { type: 'FAST_SSD' as const, size: 4, mount_point: '/data' };

  test('keeps its id, and so its data, when it is sent without id', () => {
    const former = made({ storage: [storage] });
    const spec = edited(former, {
      storage: [
        { ...storage, mount_point: '/other' },
        { ...storage, size: 8, mount_point: '/data/' },
      ],
    });
    expect(spec.storage[1]?.id).toBe(former.storage[0]?.id);
    expect(spec.storage[0]?.id).not.toBe(former.storage[0]?.id);
  });

  test('cannot shrink', () => {
    expect(faultsOfEdit(made({ storage: [storage] }), { storage: [{ ...storage, size: 3 }] })).toEqual([
      'storage.0.size: cannot shrink: it is 4 GB and may only grow',
    ]);
  });

  test('is mounted at places that are different and sane', () => {
    expect(faults({ storage: [storage, { ...storage, mount_point: '//data/' }] })).toEqual([
      'storage.1.mount_point: is the mount point of storage.0 already; mount each somewhere else',
    ]);
    for (const mount_point of ['//', '/a/../b', '/a\nb'])
      expect(faults({ storage: [{ ...storage, mount_point }] })).toHaveLength(1);
  });
});

describe('probes', () => {
  test('have defaults, and the members that are not set are null', () => {
    expect(made({ healthchecks: { liveness_probe: { type: { http: { port: 80 } } } } }).healthchecks).toEqual({
      readiness_probe: null,
      liveness_probe: {
        type: { tcp: null, http: { path: '/', scheme: 'HTTP', port: 80 }, exec: null, grpc: null },
        initial_delay_seconds: 30,
        period_seconds: 10,
        timeout_seconds: 5,
        success_threshold: 1,
        failure_threshold: 9,
      },
    });
  });

  test('must have exactly one check', () => {
    expect(
      faults({
        healthchecks: {
          readiness_probe: { type: { tcp: null } },
          liveness_probe: { type: { tcp: { port: 1 }, grpc: { port: 1 } } },
        },
      }),
    ).toEqual([
      'healthchecks.readiness_probe.type: must have exactly one of tcp, http, exec and grpc; none of them is set',
      'healthchecks.liveness_probe.type: must have exactly one of tcp, http, exec and grpc; tcp and grpc are set',
    ]);
  });

  test('an edit with healthchecks replaces both', () => {
    const probe = { type: { tcp: { port: 1 } } };
    const former = made({ healthchecks: { readiness_probe: probe, liveness_probe: probe } });
    expect(edited(former, { healthchecks: { readiness_probe: probe } }).healthchecks.liveness_probe).toBeNull();
  });
});

describe('resources', () => {
  test('are capped by the cluster where that is known', () => {
    expect(faults({ cpu: 2001, memory: 4097, gpu: 1 })).toEqual([
      'cpu: must be at most 2000 millicores: what the cluster has (maximum_cpu)',
      'memory: must be at most 4096 MB: what the cluster has (maximum_memory)',
      'gpu: must be 0: the cluster has no GPU (maximun_gpu)',
    ]);
    expect(faults({ cpu: 2001, memory: 4097 }, { caps: null })).toEqual([]);
  });

  test('the maximum of instances follows the minimum unless it is given', () => {
    expect(made({ min_running_instances: 3 }).max_running_instances).toBe(3);
    expect(made({ min_running_instances: 0 }).max_running_instances).toBe(1);
    expect(made({ min_running_instances: 3, max_running_instances: -1 }).max_running_instances).toBe(-1);
    expect(faults({ min_running_instances: 3, max_running_instances: 2 })).toEqual([
      'max_running_instances: must not be below min_running_instances (3); -1 means no limit',
    ]);
  });

  test('scale by events where the cluster is of a kind that can; elsewhere that is refused, and says what to do', () => {
    const autoscaling = {
      mode: 'KEDA' as const,
      scalers: [{ scaler_type: 'cron', role: 'PRIMARY' as const, config_yaml: 'timezone: Etc/UTC' }],
    };
    expect(faults({ autoscaling }, { scalesByEvents: false })).toEqual([
      expect.stringMatching(/^autoscaling: is not offered on this cluster: .* Leave it out/),
    ]);
    expect(faults({ autoscaling: null }, { scalesByEvents: false })).toEqual([]);
    expect(faults({ autoscaling })).toEqual([]);
    const storage = [{ type: 'FAST_SSD' as const, size: 4, mount_point: '/data' }];
    expect(faults({ autoscaling, storage })).toEqual([expect.stringMatching(/^autoscaling: cannot be combined with storage/)]);
    expect(faults({ autoscaling, min_running_instances: 0, max_running_instances: 0 })).toEqual([
      'max_running_instances: must be above 0 with autoscaling, or -1',
    ]);
    const ofCpu = { ...autoscaling, scalers: [{ scaler_type: 'cpu', role: 'SAFETY' as const, config_json: { value: 60 } }] };
    expect(faults({ autoscaling: ofCpu })).toEqual([]);
    expect(faults({ autoscaling: ofCpu, min_running_instances: 0 })).toEqual([
      expect.stringMatching(/^autoscaling\.scalers: must have a scaler other than cpu and memory/),
    ]);
  });

  test('keep what scales them through edits of something else; null takes it away', () => {
    const former = made({
      autoscaling: { mode: 'KEDA', scalers: [{ scaler_type: 'cron', role: 'PRIMARY', config_yaml: 'timezone: Etc/UTC' }] },
    });
    expect(edited(former, { healthchecks: {}, cpu: 600 }).autoscaling).toEqual(former.autoscaling);
    expect(edited(former, { healthchecks: {}, autoscaling: null })).not.toHaveProperty('autoscaling');
  });
});

test('paths and commands of the build are checked', () => {
  for (const dockerfile_path of ['/Dockerfile', '../Dockerfile', 'a/../../b', '', '-f']) {
    expect([dockerfile_path, faults({ dockerfile_path }).length]).toEqual([dockerfile_path, 1]);
  }
  expect(faults({ docker_target_build_stage: 'a b' })).toHaveLength(1);
  expect(faults({ entrypoint: 'sh -c "x' })).toEqual([
    'entrypoint: has an opening " without a closing one; quote it as for a shell',
  ]);
});

test('groups are kept by their ids, each once, and a spec without any has no such member', () => {
  const [a, b] = ['00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000b'] as const;
  const spec = made({ annotations_groups: [{ id: b }, { id: a }, { id: a.toLowerCase() }], labels_groups: [] });
  expect(spec.annotations_groups).toEqual([b, a.toLowerCase()]);
  expect(Object.keys(spec)).not.toContain('labels_groups');
  expect(edited(spec, { description: 'x' }).annotations_groups).toEqual([b, a.toLowerCase()]);
  for (const none of [null, []])
    expect(Object.keys(edited(spec, { annotations_groups: none }))).not.toContain('annotations_groups');
});

test('build_mode DOCKER, said or by default, requires dockerfile_path', () => {
  const missing = [
    'dockerfile_path: is required where build_mode is DOCKER, the default: name the Dockerfile, such as Dockerfile',
  ];
  const former = made();
  for (const path of [undefined, null, '']) {
    const request = { dockerfile_path: path };
    expect(faults(request)).toEqual(missing);
    expect(faults({ ...request, build_mode: 'DOCKER' })).toEqual(missing);
    expect(faultsOfEdit(former, { ...request, build_mode: 'DOCKER' })).toEqual(missing);
  }
  const named = { build_mode: 'DOCKER', dockerfile_path: 'docker/web' } as const;
  expect(made(named).dockerfile_path).toBe('docker/web');
  expect(edited(former, named).dockerfile_path).toBe('docker/web');
  // An edit keeps omitted members, and cannot remove the path.
  expect(edited(made(named), { description: 'x' }).dockerfile_path).toBe('docker/web');
  expect(faultsOfEdit(former, { dockerfile_path: null })).toEqual(missing);
});
