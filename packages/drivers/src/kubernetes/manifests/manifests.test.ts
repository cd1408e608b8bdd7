import { Sensitive } from '@davit/base';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Probe, Workload } from '../../workload.ts';
import { label } from '../names/labels.ts';
import { faultsOf } from '../testing/schemas.ts';
import { cluster, sampleWorkload } from '../testing/workloads.ts';
import { keepingPorts } from './addresses.ts';
import { toHttpRoutes } from './http-route.ts';
import { toManifests, type Manifests } from './index.ts';
import { toIngress } from './ingress.ts';
import { defaultSettings } from './settings.ts';

const manifests = (workload: Workload): Manifests => toManifests(workload, cluster, workload.rollout);

/** Returns all objects in the order in which they are created. */
function objectsOf(all: Manifests) {
  const { namespace, networkPolicy, secrets, claims, services, disruptionBudget, controllers } = all;
  const budgets = disruptionBudget === null ? [] : [disruptionBudget];
  return [namespace, networkPolicy, ...secrets, ...claims, ...services, ...budgets, ...controllers];
}

const text = fc.string({ unit: 'grapheme', maxLength: 80 });
const seconds = fc.integer({ min: 0, max: 900 });
const port = fc.integer({ min: 1, max: 65_535 });
const probe: fc.Arbitrary<Probe> = fc.record({
  check: fc.oneof(
    fc.record({ type: fc.constant('tcp' as const), port, host: fc.constant(null) }),
    fc.record({ type: fc.constant('http' as const), port, path: fc.constant('/'), scheme: fc.constantFrom('HTTP', 'HTTPS') }),
    fc.record({ type: fc.constant('exec' as const), command: fc.array(text, { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant('grpc' as const), port, service: fc.option(text) }),
  ),
  initialDelaySeconds: seconds,
  periodSeconds: seconds,
  timeoutSeconds: seconds,
  successThreshold: fc.integer({ min: 0, max: 5 }),
  failureThreshold: fc.integer({ min: 0, max: 5 }),
});
const sampleProbe = { initialDelaySeconds: 0, periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 1 };
const anyWorkload: fc.Arbitrary<Workload> = fc
  .record({
    owner: fc.record({
      installation: fc.uuid(),
      organization: fc.uuid(),
      project: fc.uuid(),
      environment: fc.uuid(),
      service: fc.uuid(),
    }),
    name: text,
    release: fc.uuid(),
    rollout: fc.uuid(),
    entrypoint: fc.array(text, { maxLength: 3 }),
    arguments: fc.array(text, { maxLength: 3 }),
    environment: fc.array(fc.record({ name: fc.constantFrom('A', 'B_1'), value: text.map((value) => new Sensitive(value)) })),
    files: fc.array(fc.record({ path: fc.constant('/etc/file'), content: text.map((value) => new Sensitive(value)) }), {
      maxLength: 1,
    }),
    ports: fc.array(fc.record({ id: fc.uuid(), internalPort: port, protocol: fc.constantFrom('HTTP', 'GRPC', 'TCP', 'UDP') }), {
      maxLength: 4,
    }),
    folders: fc.subarray(['/one', '/two']),
    volumes: fc
      .array(fc.record({ id: fc.uuid(), sizeGiB: fc.integer({ min: 1, max: 99 }) }), { maxLength: 2 })
      .map((volumes) => volumes.map((volume, index) => ({ ...volume, mountPath: `/data-${index}` }))),
    cpuMillicores: fc.integer({ min: 0, max: 64_000 }),
    memoryMiB: fc.integer({ min: 1, max: 65_536 }),
    instances: fc.integer({ min: 0, max: 4 }),
    hostnames: fc.array(fc.constantFrom('web', 'app-z1', '2048', 'Web', 'a'.repeat(64))),
    readiness: fc.option(probe),
    liveness: fc.option(probe),
    runsOnce: fc.constantFrom(true as const, undefined),
    readOnlyRootFilesystem: fc.boolean(),
  })
  .map((changes): Workload => sampleWorkload(changes));

test('every workload becomes objects that the description of Kubernetes takes', () => {
  fc.assert(
    fc.property(anyWorkload, (workload) => {
      for (const object of objectsOf(manifests(workload))) expect(faultsOf(object)).toEqual([]);
    }),
  );
});

test('the description that objects are held against finds an unknown member and a wrong type', () => {
  const [controller] = manifests(sampleWorkload()).controllers;
  expect(faultsOf({ ...controller, spec: { ...controller?.spec, replicaz: 1 } } as object)).toHaveLength(1);
  expect(faultsOf({ ...controller, metadata: { name: 1 } } as object).join()).toContain('/metadata/name must be string');
});

test('whatever a service is called, names are ones that Kubernetes takes, and differ by service, rollout and index', () => {
  fc.assert(
    fc.property(anyWorkload, (workload) => {
      const all = manifests(workload);
      for (const { metadata, kind } of objectsOf(all)) {
        expect(metadata?.name).toMatch(/^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
        // The pod of a Deployment has two more parts in its name. This name is the host name that its process sees.
        expect(metadata?.name?.length).toBeLessThanOrEqual(kind === 'Deployment' ? 63 - 17 : 63);
      }
      const other = manifests({ ...workload, rollout: `${workload.rollout.slice(0, -1)}x` });
      const names = [...all.controllers, ...other.controllers].map(({ metadata }) => metadata?.name);
      expect(new Set(names).size).toBe(names.length);
    }),
  );
});

test('every object carries the labels of its owner, and their values are ones that Kubernetes takes', () => {
  fc.assert(
    fc.property(anyWorkload, (workload) => {
      const { owner } = workload;
      for (const { metadata, kind } of objectsOf(manifests(workload))) {
        const labels = metadata?.labels ?? {};
        expect(labels).toMatchObject({ [label.installation]: owner.installation, [label.environment]: owner.environment });
        const isShared = kind === 'Namespace' || kind === 'NetworkPolicy';
        expect(labels[label.service]).toBe(isShared ? undefined : owner.service);
        for (const value of Object.values(labels)) expect(value).toMatch(/^(?:[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?)?$/);
      }
    }),
  );
});

test('values are in secrets alone, byte for byte', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (value) => {
      fc.pre(!value.includes('\0'));
      const workload = sampleWorkload({ environment: [{ name: 'KEY', value: new Sensitive(value) }] });
      const { secrets, controllers } = manifests(workload);
      expect(Buffer.from(secrets[0]?.data?.['variable-0'] ?? '', 'base64').toString()).toBe(value);
      const reference = { secretKeyRef: { name: secrets[0]?.metadata?.name, key: 'variable-0' } };
      expect(podOf(controllers[0]).containers[0]?.env).toEqual([{ name: 'KEY', valueFrom: reference }]);
    }),
  );
  expect(JSON.stringify(manifests(sampleWorkload()).controllers)).not.toContain('canary');
});

test('arguments and commands of probes arrive as they are, whatever dollar signs they have', () => {
  // Expands like the kubelet: `$$` is a dollar sign, `$(NAME)` the value of a variable.
  const expanded = (argument: string): string => argument.replace(/\$(\$|\([^)]*\))/g, (_, rest) => (rest === '$' ? '$' : '!'));
  fc.assert(
    fc.property(fc.array(fc.constantFrom('$', '(', ')', 'A')), (parts) => {
      const argument = parts.join('');
      const asks = { ...sampleProbe, check: { type: 'exec', command: [argument] } } as const;
      const all = { arguments: [argument], entrypoint: [argument], readiness: asks, liveness: asks };
      const { controllers } = manifests(sampleWorkload(all));
      const [container] = podOf(controllers[0]).containers;
      for (const one of [container?.readinessProbe, container?.livenessProbe])
        expect(one?.exec?.command?.map(expanded)).toEqual([argument]);
      expect(container?.args?.map(expanded)).toEqual([argument]);
      expect(container?.command?.map(expanded)).toEqual([argument]);
    }),
  );
});

test('instances run as a Deployment, with volumes as a StatefulSet, and what runs once as a Job', () => {
  const kinds = (changes: Partial<Workload>) => manifests(sampleWorkload(changes)).controllers.map(({ kind }) => kind);
  expect(kinds({ instances: 2 })).toEqual(['Deployment', 'Deployment']);
  expect(kinds({ volumes: [{ id: 'storage', mountPath: '/data', sizeGiB: 1 }] })).toEqual(['StatefulSet']);
  expect(kinds({ runsOnce: true })).toEqual(['Job']);
});

test('only instances from the first one on are asked for', () => {
  const { controllers } = manifests(sampleWorkload({ instances: 4, firstInstance: 2 }));
  expect(controllers.map(({ metadata }) => metadata?.labels?.[label.index])).toEqual(['2', '3']);
});

describe('instances that share a volume', () => {
  const volumes = [{ id: 'storage', mountPath: '/data', sizeGiB: 1 }];

  test('run on one node, as it is on one at a time: each is put where those of its rollout are', () => {
    const { controllers } = manifests(sampleWorkload({ instances: 2, volumes }));
    for (const controller of controllers) {
      expect(faultsOf(controller)).toEqual([]);
      const { affinity, topologySpreadConstraints } = podOf(controller);
      expect(topologySpreadConstraints).toBeUndefined();
      expect(affinity?.podAntiAffinity).toBeUndefined();
      const [term, ...more] = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
      expect([term?.topologyKey, more]).toEqual(['kubernetes.io/hostname', []]);
      // The first instance is placed on any node, because it matches its own affinity.
      expect(controller.spec?.template.metadata?.labels).toMatchObject(term?.labelSelector?.matchLabels ?? { none: 'none' });
      expect(term?.labelSelector?.matchLabels).toHaveProperty([label.service], sampleWorkload().owner.service);
    }
  });

  test('leave a node together when it is drained: one that stays would keep the others from being put elsewhere', () => {
    expect(manifests(sampleWorkload({ instances: 2, volumes })).disruptionBudget).toBeNull();
  });

  test('a single one, and instances without volumes, go wherever there is room', () => {
    for (const changes of [{ volumes }, { instances: 2 }]) {
      const [controller] = manifests(sampleWorkload(changes)).controllers;
      expect(podOf(controller).affinity).toBeUndefined();
      expect(podOf(controller).topologySpreadConstraints).toHaveLength(1);
    }
  });
});

describe('what a service becomes', () => {
  test('a web service', () => expect(objectsOf(manifests(sampleWorkload()))).toMatchSnapshot());
  test('a database: a volume, and no probe', () => {
    const workload = sampleWorkload({
      name: 'Database',
      arguments: [],
      files: [],
      volumes: [{ id: 'a9f0a2c4-0000-4000-8000-000000000008', mountPath: '/var/lib/postgresql', sizeGiB: 10 }],
      ports: [{ id: 'sql', internalPort: 5432, protocol: 'TCP' }],
      readiness: null,
      hostnames: ['db'],
    });
    const { claims, controllers } = manifests(workload);
    expect([...claims, ...controllers]).toMatchSnapshot();
  });
  test('an attempt of a job with a folder for its output', () => {
    const changes = { ports: [], hostnames: [], readiness: null, files: [], runsOnce: true, folders: ['/davit-output'] } as const;
    expect(manifests(sampleWorkload(changes)).controllers).toMatchSnapshot();
  });
});

test('a cluster of the level restricted gets pods that meet it', () => {
  const restricted = { ...cluster, settings: { ...defaultSettings, podSecurity: 'restricted' as const } };
  fc.assert(
    fc.property(anyWorkload, (workload) => {
      for (const controller of toManifests(workload, restricted, workload.rollout).controllers) {
        const pod = podOf(controller);
        expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
        for (const { securityContext } of pod.containers) {
          expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });
          expect(securityContext?.capabilities?.add).toBeUndefined();
          expect(securityContext?.runAsUser).not.toBe(0);
        }
      }
    }),
  );
});

test('the credentials of a registry are in a pull secret of the type that nodes read', () => {
  const credentials = { username: 'robot', password: new Sensitive('canary') };
  const { secrets, controllers } = manifests(sampleWorkload({ registry: { host: 'registry.example.org', credentials } }));
  const secret = secrets.find(({ type }) => type === 'kubernetes.io/dockerconfigjson');
  expect(podOf(controllers[0]).imagePullSecrets).toEqual([{ name: secret?.metadata?.name }]);
  const auth = Buffer.from('robot:canary').toString('base64');
  expect(JSON.parse(Buffer.from(secret?.data?.['.dockerconfigjson'] ?? '', 'base64').toString())).toEqual({
    auths: { 'registry.example.org': { username: 'robot', password: 'canary', auth } },
  });
});

test('a service of several instances is drained one by one, and one alone stops no drain', () => {
  expect(manifests(sampleWorkload({ instances: 3 })).disruptionBudget?.spec?.maxUnavailable).toBe(1);
  expect(manifests(sampleWorkload({ instances: 1 })).disruptionBudget).toBeNull();
});

test('sources of the settings may connect, besides the environment itself', () => {
  const sources = { namespaces: ['ingress'], networks: ['10.1.0.0/16'] };
  const { networkPolicy } = toManifests(sampleWorkload(), { ...cluster, settings: { ...defaultSettings, sources } }, 'rollout');
  expect(faultsOf(networkPolicy)).toEqual([]);
  expect(networkPolicy.spec?.ingress?.[0]?.from).toEqual([
    { podSelector: {} },
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } },
    { ipBlock: { cidr: '10.1.0.0/16' } },
  ]);
});

test('beside a rollout that serves, its ports stay until it is switched from', () => {
  const port = (internalPort: number) => ({ id: `port-${internalPort}`, internalPort, protocol: 'HTTP' as const });
  const [there] = manifests(sampleWorkload({ ports: [port(8080), port(9000)] })).services;
  const [next] = manifests(sampleWorkload({ ports: [port(9000), port(9090)] })).services;
  const merged = keepingPorts(next ?? {}, there);
  expect(faultsOf(merged)).toEqual([]);
  expect(merged.spec?.ports?.map(({ port }) => port)).toEqual([9000, 9090, 8080]);
  expect(keepingPorts(next ?? {}, undefined)).toEqual(next);
});

test('a Service that has an address keeps it, and one without stays so, as neither can change', () => {
  const withPorts = manifests(sampleWorkload()).services[0] ?? {};
  const without = manifests(sampleWorkload({ ports: [] })).services[0] ?? {};
  expect(without.spec).toMatchObject({ clusterIP: 'None' });
  const addressed = { ...withPorts, spec: { ...withPorts.spec, clusterIP: '10.0.0.1' } };
  const kept = keepingPorts(without, addressed);
  expect(faultsOf(kept)).toEqual([]);
  expect(kept.spec?.ports?.map(({ port }) => port)).toEqual([8080, 9090]);
  expect(kept.spec).not.toHaveProperty('clusterIP');
  expect(kept.spec?.selector).toEqual(without.spec?.selector);
  expect(keepingPorts(without, without)).toEqual(without);
  expect(keepingPorts(withPorts, without)).toEqual(withPorts);
});

test('routes become an Ingress that the description of Kubernetes takes, without any none', () => {
  const { owner, rollout } = sampleWorkload();
  const routes = [
    { id: 'web', hosts: ['shop.example.org', '*.shop.example.org'], pathPrefix: '/', internalPort: 8080 },
    { id: 'api', hosts: ['shop.example.org'], pathPrefix: '/api', internalPort: 9090 },
  ];
  const ingress = toIngress({ owner, rollout, routes }, { ...defaultSettings, ingressClass: 'nginx' });
  expect(faultsOf(ingress ?? {})).toEqual([]);
  expect(ingress).toMatchSnapshot();
  expect(toIngress({ owner, rollout, routes: [] }, defaultSettings)).toBeNull();
});

test('routes lead to the Service of a chart where they name one', () => {
  const { owner, rollout } = sampleWorkload();
  const routes = [
    { id: 'web', hosts: ['a.example.org'], pathPrefix: '/', internalPort: 80, to: { release: 'redis', name: 'redis-web' } },
  ];
  const backend = toIngress({ owner, rollout, routes }, defaultSettings)?.spec?.rules?.[0]?.http?.paths[0]?.backend;
  expect(backend).toEqual({ service: { name: 'redis-web', port: { number: 80 } } });
  const [route] = toHttpRoutes({ owner, rollout, routes }, { namespace: 'doors', name: 'front' });
  expect(route?.spec.rules[0]?.backendRefs).toEqual([{ name: 'redis-web', port: 80 }]);
});

test('hosts get certificates of the issuer, but for those that the wildcard certificate is for', () => {
  const { owner, rollout } = sampleWorkload();
  const routes = [
    { id: 'web', hosts: ['shop-1a2b3c4d.apps.example.org', 'shop.example.org'], pathPrefix: '/', internalPort: 8080 },
    { id: 'api', hosts: ['shop.example.org', 'www.example.org'], pathPrefix: '/api', internalPort: 9090 },
  ];
  const certificates = { issuer: 'letsencrypt', wildcardDomain: 'apps.example.org' };
  const ingress = toIngress({ owner, rollout, routes }, { ...defaultSettings, certificates });
  expect(faultsOf(ingress ?? {})).toEqual([]);
  expect(ingress?.metadata?.annotations).toEqual({ 'cert-manager.io/cluster-issuer': 'letsencrypt' });
  expect(ingress?.spec?.tls?.map(({ hosts }) => hosts)).toEqual([['shop.example.org'], ['www.example.org']]);
  const generated = [{ id: 'web', hosts: ['shop-1a2b3c4d.apps.example.org'], pathPrefix: '/', internalPort: 8080 }];
  const plain = toIngress({ owner, rollout, routes: generated }, { ...defaultSettings, certificates });
  expect([plain?.metadata?.annotations, plain?.spec?.tls]).toEqual([undefined, undefined]);
  const all = toIngress(
    { owner, rollout, routes: generated },
    { ...defaultSettings, certificates: { ...certificates, wildcardDomain: null } },
  );
  expect(all?.spec?.tls?.[0]?.hosts).toEqual(['shop-1a2b3c4d.apps.example.org']);
});

test('each host has a certificate of its own, so that one that cannot be had keeps no other from being made or renewed', () => {
  const { owner, rollout } = sampleWorkload();
  const certificates = { issuer: 'letsencrypt', wildcardDomain: null };
  const entries = (...hosts: string[]) => {
    const routes = [{ id: 'web', hosts, pathPrefix: '/', internalPort: 8080 }];
    const ingress = toIngress({ owner, rollout, routes }, { ...defaultSettings, certificates });
    expect(faultsOf(ingress ?? {})).toEqual([]);
    return ingress?.spec?.tls ?? [];
  };
  const two = entries('shop.example.org', '*.shop.example.org');
  expect(two).toEqual([
    { hosts: ['shop.example.org'], secretName: expect.stringMatching(/^service-[0-9a-f]{16}-tls-[0-9a-f]{8}$/) },
    { hosts: ['*.shop.example.org'], secretName: expect.stringMatching(/^service-[0-9a-f]{16}-tls-[0-9a-f]{8}$/) },
  ]);
  expect(two[0]?.secretName).not.toBe(two[1]?.secretName);
  // Another secret for the same host would be another certificate, which would be requested anew.
  expect(entries('shop.example.org', '*.shop.example.org', 'new.example.org').slice(0, 2)).toEqual(two);
  expect(entries('new.example.org', ...two.flatMap(({ hosts = [] }) => hosts)).slice(1)).toEqual(two);
  expect(entries('*.shop.example.org')).toEqual(two.slice(1));
});

test('routes at a Gateway are HTTPRoutes, one for all ports of the same hosts', () => {
  const { owner, rollout } = sampleWorkload();
  const routes = [
    { id: 'web', hosts: ['shop.example.org', '*.shop.example.org'], pathPrefix: '/', internalPort: 8080 },
    { id: 'api', hosts: ['*.shop.example.org', 'shop.example.org'], pathPrefix: '/api', internalPort: 9090 },
    { id: 'admin', hosts: ['admin.example.org'], pathPrefix: '/', internalPort: 9091 },
    { id: 'none', hosts: [], pathPrefix: '/', internalPort: 9092 },
  ];
  const metadata = { labels: { team: 'shop' }, annotations: { HTTPRoute: { 'example.org/door': '3' } } };
  expect(toHttpRoutes({ owner, rollout, routes, metadata }, { namespace: 'infra', name: 'public' })).toMatchSnapshot();
  expect(toHttpRoutes({ owner, rollout, routes: [] }, { namespace: 'infra', name: 'public' })).toEqual([]);
});

test('more hosts than an HTTPRoute takes are in several, each host in one with all its paths', () => {
  const { owner, rollout } = sampleWorkload();
  const named = (count: number, domain: string) => Array.from({ length: count }, (_, index) => `h${index}.${domain}`);
  fc.assert(
    fc.property(fc.nat(60), fc.nat(40), (many, few) => {
      const [all, own] = [named(many, 'example.org'), named(few, 'example.net')];
      const routes = [
        { id: 'web', hosts: all, pathPrefix: '/', internalPort: 8080 },
        { id: 'api', hosts: all, pathPrefix: '/api', internalPort: 9090 },
        { id: 'admin', hosts: own, pathPrefix: '/', internalPort: 9091 },
      ];
      const made = toHttpRoutes({ owner, rollout, routes }, { namespace: 'infra', name: 'public' });
      for (const { spec } of made) {
        expect(spec.hostnames.length).toBeLessThanOrEqual(16);
        expect(spec.rules).toHaveLength(spec.hostnames[0]?.endsWith('.org') === true ? 2 : 1);
      }
      expect(made.flatMap(({ spec }) => spec.hostnames).toSorted()).toEqual([...all, ...own].toSorted());
      expect(new Set(made.map(({ metadata }) => metadata.name)).size).toBe(Math.ceil(many / 16) + Math.ceil(few / 16));
    }),
  );
});

test('what no cluster can run is refused with what would be right', () => {
  const udp = { id: 'dns', internalPort: 53, protocol: 'UDP', hostPort: 5353 } as const;
  expect(() => manifests(sampleWorkload({ ports: [udp] }))).toThrow(/UDP and public/);
  const withNul = [{ name: 'KEY', value: new Sensitive('a\0b') }];
  expect(() => manifests(sampleWorkload({ environment: withNul }))).toThrow(/KEY contains a NUL/);
  const large = [{ path: '/large', content: new Sensitive('x'.repeat(1_048_577)) }];
  expect(() => manifests(sampleWorkload({ files: large }))).toThrow(/at most 1048576/);
});

function podOf(controller: Manifests['controllers'][number] | undefined) {
  const spec = controller?.spec?.template.spec;
  if (spec === undefined) throw new Error('there is no pod');
  return spec;
}

test('what users want written on objects is there, and never in place of what Davit finds them by', () => {
  const metadata = {
    labels: { team: 'shop', [label.service]: 'stolen', 'app.kubernetes.io/managed-by': 'somebody' },
    annotations: {
      Pod: { 'example.org/pod': '1' },
      Service: { 'example.org/service': '2' },
      Ingress: { 'example.org/door': '3' },
    },
  };
  const workload = sampleWorkload({ metadata, volumes: [{ id: 'data', mountPath: '/data', sizeGiB: 1 }] });
  const { namespace, networkPolicy, ...all } = manifests(workload);
  for (const object of [...all.secrets, ...all.claims, ...all.services, ...all.controllers]) {
    expect(object.metadata?.labels).toMatchObject({
      team: 'shop',
      [label.service]: workload.owner.service,
      'app.kubernetes.io/managed-by': 'davit',
    });
  }
  // All services of the environment share these two objects.
  expect(namespace.metadata?.labels).not.toHaveProperty('team');
  expect(networkPolicy.metadata?.labels).not.toHaveProperty('team');
  const [controller] = all.controllers;
  expect(controller?.spec?.template.metadata?.annotations).toMatchObject({ 'example.org/pod': '1' });
  expect(controller?.metadata?.annotations).not.toHaveProperty('example.org/pod');
  expect(all.services[0]?.metadata?.annotations).toMatchObject({ 'example.org/service': '2' });
  const routes = [{ id: 'r', hosts: ['shop.example.org'], pathPrefix: '/', internalPort: 8080 }];
  const ingress = toIngress({ owner: workload.owner, rollout: workload.rollout, routes, metadata }, defaultSettings);
  expect(ingress?.metadata?.annotations).toEqual({ 'example.org/door': '3' });
  expect(faultsOf(ingress ?? {})).toEqual([]);
  for (const object of objectsOf(manifests(workload))) expect(faultsOf(object)).toEqual([]);
});

test('what users want written on objects has no keys of Davit: they would be taken for runs of a schedule, or for others', () => {
  const reserved = { [label.schedule]: 'none', 'davit.dev/new': 'x', owner: 'helm' };
  const metadata = { labels: reserved, annotations: { Pod: reserved, Deployment: reserved, Secret: reserved } };
  const { secrets, controllers } = manifests(sampleWorkload({ metadata }));
  for (const { metadata: written } of [...secrets, ...controllers, ...controllers.map(({ spec }) => spec?.template ?? {})]) {
    for (const entries of [written?.labels, written?.annotations]) {
      expect(entries).toMatchObject({ owner: 'helm' });
      expect(entries).not.toHaveProperty([label.schedule]);
      expect(entries).not.toHaveProperty(['davit.dev/new']);
    }
  }
});

test('a digest is pulled once to a node, a tag at each start, as it may have moved', () => {
  const policy = (image: string) => {
    const [controller] = manifests(sampleWorkload({ image })).controllers;
    return controller?.spec?.template.spec?.containers[0]?.imagePullPolicy;
  };
  expect(policy(sampleWorkload().image)).toBe('IfNotPresent');
  expect(policy('registry.example.org/team/shop:1')).toBe('Always');
});
