import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { findProgram } from '../docker/own-podman.ts';
import { chartRules, roleRules } from './cluster/role.ts';
import { scaleTargetDefinition } from './manifests/scale-target.ts';
import {
  chartFolder,
  manifestsFolder,
  parseManifests,
  readManifests,
  renderChart,
  toFile,
  withoutHelm,
  type Manifest,
} from './testing/manifests-of-davit.ts';
import { faultsOf } from './testing/schemas.ts';

/* The manifests with which Davit itself runs. With Helm in PATH, `-u` writes them anew from the chart. */

const helm = findProgram('helm');
const kubectl = findProgram('kubectl');
const written = 'Written from deploy/chart/davit (`npx vitest run --project unit manifests-of-davit -u` with Helm in PATH).';

const everything = {
  image: { digest: `sha256:${'0'.repeat(64)}`, pullSecrets: [{ name: 'registry' }] },
  backups: { claim: 'shelf' },
  ingress: { enabled: true, className: 'nginx', host: 'davit.example.org', tlsSecret: 'davit-tls', annotations: { a: 'b' } },
  service: { annotations: { a: 'b' } },
  publicUrl: 'https://davit.example.org',
  trustProxy: true,
  settings: { DAVIT_LOG_LEVEL: 'debug', DAVIT_BODY_LIMIT_BYTES: 104_857_600 },
  extraEnv: [{ name: 'DAVIT_EXPORT_PASSPHRASE', valueFrom: { secretKeyRef: { name: 'more', key: 'passphrase' } } }],
  clusterSettings: { '*': { pod_security: 'restricted' } },
  inCluster: true,
  charts: true,
  serviceAccount: { name: 'dock', annotations: { a: 'b' } },
  podAnnotations: { a: 'b' },
  podLabels: { c: 'd' },
  nodeSelector: { e: 'f' },
  tolerations: [{ key: 'g', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  priorityClassName: 'high',
};

interface Container {
  readonly name: string;
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly object[];
}

interface Deployment extends Manifest {
  readonly spec: { readonly strategy: { readonly type: string }; readonly template: { readonly spec: PodSpec } };
}

// Another test checks the manifests against the schema of Kubernetes.
const isDeployment = (manifest: Manifest): manifest is Deployment => manifest.kind === 'Deployment';

/** Returns the pods of the Deployments among the manifests, by name. */
function podsOf(manifests: readonly Manifest[]): Readonly<Record<string, PodSpec>> {
  return Object.fromEntries(manifests.filter(isDeployment).map(({ metadata, spec }) => [metadata.name, spec.template.spec]));
}

const namesOf = (manifests: readonly Manifest[]): string[] => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

test('Kubernetes takes the manifests as they are', () => {
  const manifests = [...readManifests('base'), ...readManifests('in-cluster')];
  expect(namesOf(manifests).toSorted()).toEqual([
    'ClusterRole davit-davit',
    'ClusterRoleBinding davit-davit',
    'ConfigMap davit-clusters',
    'CustomResourceDefinition scaletargets.davit.dev',
    'Deployment davit-api',
    'Deployment davit-worker',
    'Namespace davit',
    'PersistentVolumeClaim davit-backups',
    'PodDisruptionBudget davit-api',
    'PodDisruptionBudget davit-worker',
    'Service davit',
    'ServiceAccount davit',
  ]);
  expect(manifests.flatMap(faultsOf)).toEqual([]);
});

test('the role of manifests and chart is what Davit asks a cluster for', () => {
  expect(readManifests('in-cluster').find(({ kind }) => kind === 'ClusterRole')?.rules).toEqual(roleRules());
  const inChart = (name: string): unknown => load(readFileSync(join(chartFolder, 'files', name), 'utf8'));
  expect(inChart('cluster-role-rules.yaml')).toEqual(roleRules());
  expect(inChart('cluster-role-rules-for-charts.yaml')).toEqual(chartRules());
});

test('chart and manifests bring the kind of object by which clusters say how many instances there should be', () => {
  // Helm creates the objects of this folder if they are missing, otherwise leaves them alone, and never removes them.
  const [inChart] = parseManifests(readFileSync(join(chartFolder, 'crds/scale-target.yaml'), 'utf8'));
  expect(inChart).toEqual(scaleTargetDefinition);
  expect(readManifests('in-cluster').find(({ kind }) => kind === 'CustomResourceDefinition')).toEqual(scaleTargetDefinition);
});

test('pods have no more than they need: no root, nothing to write to but volumes, no token, no secret in the manifest', () => {
  const pods = podsOf(readManifests('base'));
  expect(Object.keys(pods).toSorted()).toEqual(['davit-api', 'davit-worker']);
  for (const pod of Object.values(pods)) {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const container of [...pod.initContainers, ...pod.containers]) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      const secret = container.env.filter(({ name }) => /DATABASE_URL|SECRET_KEY|TOKEN/.test(name));
      expect(secret.map(({ value }) => value)).toEqual([undefined, undefined, undefined]);
    }
  }
});

test('a pod has the time that its process takes to stop', () => {
  const { 'davit-api': api } = podsOf(readManifests('base'));
  const delay = Number(api?.containers[0]?.env.find(({ name }) => name === 'DAVIT_STOP_DELAY_SECONDS')?.value);
  expect(delay).toBeGreaterThan(0);
  // The process exits by itself 10 s after the time for open requests, which is 15 s by default.
  expect(api?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + 15 + 10);
});

describe.skipIf(helm === null)(`the chart${helm === null ? ' (skipped: there is no helm in PATH)' : ''}`, () => {
  const render = (values: object): Manifest[] => renderChart(helm ?? '', values);

  test('renders the manifests that are in the repository', async () => {
    const rendered = render({ backups: { size: '20Gi' } }).map(withoutHelm);
    await expect(toFile(rendered, written)).toMatchFileSnapshot(join(manifestsFolder, 'base/davit.yaml'));
    const role = render({ backups: { size: '20Gi' }, inCluster: true }).filter(({ kind }) => kind.startsWith('ClusterRole'));
    await expect(toFile(role.map(withoutHelm), written)).toMatchFileSnapshot(join(manifestsFolder, 'in-cluster/role.yaml'));
  });

  test('renders what Kubernetes takes, whatever of it is used', () => {
    for (const values of [{ backups: { ephemeral: true } }, everything]) expect(render(values).flatMap(faultsOf)).toEqual([]);
    const manifests = render(everything);
    expect(namesOf(manifests)).toContain('Ingress davit');
    expect(namesOf(manifests)).not.toContain('PersistentVolumeClaim davit-backups');
    const { 'davit-worker': worker } = podsOf(manifests);
    expect(worker?.volumes).toContainEqual({ name: 'backups', persistentVolumeClaim: { claimName: 'shelf' } });
    expect(worker?.containers[0]?.env).toContainEqual({ name: 'DAVIT_BODY_LIMIT_BYTES', value: '104857600' });
    expect(worker?.automountServiceAccountToken).toBe(true);
    expect(manifests.find(({ kind }) => kind === 'ClusterRole')?.rules).toEqual([...roleRules(), ...chartRules()]);
  });

  test('replaces workers one by one, unless their volume is on one node at a time', () => {
    const strategies = (backups: object): unknown =>
      render({ backups })
        .filter(isDeployment)
        .map(({ metadata, spec }) => [metadata.name, spec.strategy.type]);
    const rolling = [
      ['davit-api', 'RollingUpdate'],
      ['davit-worker', 'RollingUpdate'],
    ];
    const oneNode = [
      ['davit-api', 'RollingUpdate'],
      ['davit-worker', 'Recreate'],
    ];
    expect(strategies({ size: '20Gi' })).toEqual(rolling);
    expect(strategies({ ephemeral: true, accessMode: 'ReadWriteOnce' })).toEqual(rolling);
    expect(strategies({ size: '20Gi', accessMode: 'ReadWriteOnce' })).toEqual(oneNode);
    expect(strategies({ claim: 'shelf', accessMode: 'ReadWriteOnce' })).toEqual(oneNode);
  });

  test.each([
    [{}, /Backups of databases need a place that all workers share/],
    [{ backups: { size: '20Gi' }, replicas: 3 }, /replicas/],
    [{ backups: { size: 'much' } }, /size/],
    [{ backups: { size: '20Gi' }, settings: { DAVIT_SECRET_KEY: 'canary' } }, /invalid propertyName 'DAVIT_SECRET_KEY'/],
    [{ backups: { size: '20Gi' }, charts: true }, /set inCluster as well/],
    [{ backups: { size: '20Gi' }, ingress: { enabled: true } }, /ingress.host is needed/],
  ])('refuses %j and says why', (values, words) => {
    expect(() => render(values)).toThrow(words);
  });

  test('names its Service as what pods of its own cluster reach it by, unless that is set', () => {
    const settingsOf = (clusterSettings: object): unknown => {
      const map = render({ backups: { ephemeral: true }, clusterSettings }).find(({ kind }) => kind === 'ConfigMap');
      const data: unknown = Reflect.get(map ?? {}, 'data');
      return JSON.parse(String(Reflect.get(Object(data), 'clusters.json')));
    };
    const [own, set, other] = ['own', 'set', 'other'];
    const given = {
      [own]: { in_cluster: true },
      [set]: { in_cluster: true, davit_address: 'http://elsewhere' },
      [other]: { linger_seconds: 1 },
    };
    expect(settingsOf(given)).toEqual({ ...given, [own]: { in_cluster: true, davit_address: 'http://davit.davit.svc:80' } });
  });

  test('rolls the pods when the settings of clusters change', () => {
    const of = (clusterSettings: object) =>
      JSON.stringify(render({ backups: { ephemeral: true }, clusterSettings }).filter(({ kind }) => kind === 'Deployment'));
    expect(of({})).toBe(of({}));
    expect(of({ '*': { linger_seconds: 5 } })).not.toBe(of({}));
  });
});

test.skipIf(kubectl === null || helm === null)(
  `kustomize makes the same of the manifests as Helm of the chart${kubectl === null ? ' (skipped: there is no kubectl in PATH)' : ''}`,
  () => {
    const text = execFileSync(kubectl ?? '', ['kustomize', join(manifestsFolder, 'in-cluster')], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
    const rendered = renderChart(helm ?? '', { backups: { size: '20Gi' }, inCluster: true }).map(withoutHelm);
    // Helm has no template of either kind.
    const own = parseManifests(text).filter(({ kind }) => kind !== 'Namespace' && kind !== 'CustomResourceDefinition');
    const sorted = (manifests: readonly Manifest[]) =>
      manifests.toSorted((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`));
    expect(sorted(own)).toEqual(sorted(rendered));
  },
);

test.skipIf(kubectl === null)(
  `what is set for clusters beside the manifests is what an apply of them brings${kubectl === null ? ' (skipped: there is no kubectl in PATH)' : ''}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'davit-manifests-'));
    try {
      cpSync(manifestsFolder, folder, { recursive: true });
      const settings = JSON.stringify({ '2f1c7b1e-4c1f-4c59-9d3e-0d1f6b1f3a10': { in_cluster: true } });
      writeFileSync(join(folder, 'base/clusters.json'), settings);
      const text = execFileSync(kubectl ?? '', ['kustomize', join(folder, 'in-cluster')], { encoding: 'utf8', stdio: 'pipe' });
      const maps = parseManifests(text).filter(({ kind }) => kind === 'ConfigMap');
      expect(maps).toMatchObject([{ metadata: { name: 'davit-clusters' }, data: { 'clusters.json': settings } }]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
