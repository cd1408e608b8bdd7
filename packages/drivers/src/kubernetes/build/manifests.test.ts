import { Sensitive } from '@davit/base';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClusterBuildRequest } from '../../image-builder.ts';
import { buildRequest } from '../../shared/build/testing.ts';
import { helperContainer, mainContainer } from '../manifests/pod.ts';
import { defaultSettings, type BuildSettings } from '../manifests/settings.ts';
import { faultsOf } from '../testing/schemas.ts';
import { buildArguments, daemonConfiguration, dockerConfiguration, sourcePolicy } from './configuration.ts';
import { toBuildJob, toBuildNamespace, toBuildPolicy } from './manifests.ts';

const folder = 'registry.example.org:5000/davit';
const credentials = { username: 'robot', password: new Sensitive('canary') };
const request: ClusterBuildRequest = {
  ...buildRequest('/checkout'),
  reference: `${folder}/shop:key`,
  registry: { host: 'registry.example.org:5000', credentials, isPlain: false, folder },
};
const settings = defaultSettings.builds;
const jobOf = (change: Partial<BuildSettings> = {}, requested: Partial<ClusterBuildRequest> = {}) =>
  toBuildJob({ ...request, ...requested }, { ...settings, ...change }, 'build-1-2');
const podOf = (change: Partial<BuildSettings> = {}) => jobOf(change).spec?.template.spec;
const container = (name: string, change: Partial<BuildSettings> = {}) =>
  podOf(change)?.containers.find((one) => one.name === name);

const isolations = ['rootless', 'user_namespace', 'privileged'] as const;

test('whatever is asked for becomes objects that the description of Kubernetes takes', () => {
  const requested = fc.record({
    cpuMillicores: fc.integer({ min: 1, max: 64_000 }),
    memoryMiB: fc.integer({ min: 8, max: 65_536 }),
    timeoutSeconds: fc.option(fc.integer({ min: 1, max: 86_400 }), { nil: undefined }),
  });
  const set = fc.record({
    image: fc.option(fc.constant('example.org/buildkit:1')),
    isolation: fc.constantFrom(...isolations),
    diskGiB: fc.integer({ min: 1, max: 1_000 }),
    plainRegistries: fc.subarray(['a.example:5000', 'b.example']),
  });
  fc.assert(
    fc.property(requested, set, (wanted, chosen) => {
      const { timeoutSeconds, ...rest } = wanted;
      const job = jobOf(chosen, { ...rest, ...(timeoutSeconds !== undefined && { timeoutSeconds }) });
      for (const object of [job, toBuildNamespace('i'), toBuildPolicy('i')]) expect(faultsOf(object)).toEqual([]);
    }),
  );
});

test('no object has the credentials of the registry, and none but the client has what they are written to', () => {
  expect(JSON.stringify(jobOf())).not.toContain('canary');
  const mounts = (name: string) => container(name)?.volumeMounts?.map((mount) => mount.name);
  expect(mounts(mainContainer)).toEqual(['socket', 'state']);
  expect(mounts(helperContainer)).toEqual(['socket', 'context', 'own']);
  expect(podOf()?.shareProcessNamespace).toBeUndefined();
  expect(podOf()?.volumes?.find(({ name }) => name === 'own')?.emptyDir?.medium).toBe('Memory');
});

test.each(isolations)('%s: the client is held to the level restricted but for its user, and has no token', (isolation) => {
  expect(container(helperContainer, { isolation })?.securityContext).toMatchObject({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
    readOnlyRootFilesystem: true,
  });
  expect(podOf({ isolation })?.automountServiceAccountToken).toBe(false);
});

test('without another choice the daemon is no root, is not privileged, and has two capabilities', () => {
  const daemon = container(mainContainer);
  expect(daemon?.securityContext).toMatchObject({
    runAsUser: 1000,
    runAsNonRoot: true,
    capabilities: { drop: ['ALL'], add: ['SETGID', 'SETUID'] },
  });
  expect(daemon?.securityContext?.privileged).toBeUndefined();
  expect(daemon?.command).toContain('rootlesskit');
  expect(podOf()?.hostUsers).toBeUndefined();
});

test('in a user namespace of the kubelet it is privileged there, with the image that is made for root', () => {
  const change = { isolation: 'user_namespace' as const };
  expect(podOf(change)?.hostUsers).toBe(false);
  const daemon = container(mainContainer, change);
  expect(daemon?.securityContext?.privileged).toBe(true);
  expect(daemon?.image).toMatch(/moby\/buildkit:v[\d.]+$/);
  expect(daemon?.command).not.toContain('rootlesskit');
});

test('a build is held to its processor, memory, disk and time, and goes by itself', () => {
  const { spec } = jobOf({ diskGiB: 7 }, { cpuMillicores: 2000, memoryMiB: 512, timeoutSeconds: 600 });
  expect(spec).toMatchObject({ activeDeadlineSeconds: 660, ttlSecondsAfterFinished: 60, backoffLimit: 0 });
  const daemon = spec?.template.spec?.containers[0];
  expect(daemon?.resources).toEqual({ requests: { cpu: '500m', memory: '512Mi' }, limits: { cpu: '2000m', memory: '512Mi' } });
  const limits = spec?.template.spec?.volumes?.map(({ name, emptyDir }) => [name, emptyDir?.sizeLimit]);
  expect(limits).toContainEqual(['state', '7Gi']);
  expect(limits).toContainEqual(['context', '7Gi']);
});

test('nobody reaches a build, and it reaches no link-local address but to ask for names', () => {
  const { spec } = toBuildPolicy('i');
  expect(spec?.ingress).toEqual([]);
  expect(spec?.policyTypes).toEqual(['Ingress', 'Egress']);
  const [names, rest] = spec?.egress ?? [];
  expect(names?.ports?.every(({ port }) => port === 53)).toBe(true);
  expect(rest?.to).toContainEqual({ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } });
});

describe('what BuildKit is told', () => {
  const args = (change: Partial<ClusterBuildRequest> = {}, offered: Readonly<Record<string, string>> = {}) =>
    buildArguments({ ...request, ...change }, 'docker/Dockerfile', { offered, remarks: [] });

  test('values stay whole, whatever is in them', () => {
    const value = `a,b="c" $d\n'e'`;
    expect(args({ targetStage: 'final' }, { GREETING: value })).toEqual(
      expect.arrayContaining([`--opt=build-arg:GREETING=${value}`, '--opt=target=final', '--opt=filename=docker/Dockerfile']),
    );
  });

  test('layers come from the registry and go there, unless every step is to run anew', () => {
    const cache = `type=registry,ref=${folder}/shop:cache`;
    expect(args()).toContain(`--import-cache=${cache}`);
    expect(args().some((one) => one.startsWith(`--export-cache=${cache},mode=max`))).toBe(true);
    expect(args({ withoutCache: true })).toContain('--no-cache');
    expect(args({ withoutCache: true })).not.toContain(`--import-cache=${cache}`);
  });

  test('http is for the registries that are known to speak it', () => {
    const plain = { ...request, registry: { ...request.registry, isPlain: true } };
    expect(daemonConfiguration(request, settings)).not.toContain('http');
    expect(daemonConfiguration(plain, settings)).toContain('[registry."registry.example.org:5000"]\nhttp = true');
    expect(daemonConfiguration(request, { ...settings, plainRegistries: ['lan:80'] })).toContain(
      '[registry."lan:80"]\nhttp = true',
    );
  });

  test('the credentials are for one registry, and what was built for others is no source', () => {
    const { auths } = JSON.parse(JSON.stringify(dockerConfiguration(request.registry)));
    expect(auths).toEqual({ 'registry.example.org:5000': { auth: Buffer.from('robot:canary').toString('base64') } });
    expect(dockerConfiguration({ host: 'x', credentials: null })).toEqual({ auths: {} });
    expect(sourcePolicy(request.registry)).toEqual({
      rules: [{ action: 'DENY', selector: { identifier: `docker-image://${folder}/*`, match_type: 'WILDCARD' } }],
    });
  });
});
