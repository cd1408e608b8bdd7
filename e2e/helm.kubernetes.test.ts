import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallInput } from '../packages/client/src/index.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { TestRepository } from '../packages/drivers/src/source/testing.ts';
import { hasRegistry, startTestRegistry } from '../packages/testkit/src/registry.ts';
import { chartFiles, helm, missingHelm, startChartRepository, type ChartRepository } from './support/charts.ts';
import { makeAccount } from './support/kubernetes-account.ts';
import { KubernetesSetup } from './support/kubernetes-setup.ts';

/* Charts on a real cluster, deployed by the real Helm through the API. Each test builds on the one before. */

const cluster = testCluster();
const missing = cluster.missing ?? missingHelm();
const canary = `it's a "canary": of charts`;

type Body = CallInput<'createHelm'>['body'];
type Params = { readonly helmId: string };

describe.skipIf(missing !== null)(`Helm charts on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let setup: KubernetesSetup;
  let repository: ChartRepository;
  let folder: string;
  let git: TestRepository;
  let repositoryId = '';
  let web: Params;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'davit-e2e-charts-'));
    git = new TestRepository(join(folder, 'git'));
    const files = Object.entries(chartFiles('9.9.9')).map(([path, text]) => [`charts/web/${path}`, text]);
    git.commit('chart and values', {
      ...Object.fromEntries(files),
      'values/live.yaml': 'page: {git: from git, raw: from git}\n',
    });
    repository = await startChartRepository(['1.0.0', '1.1.0']);
    setup = await KubernetesSetup.open(cluster, { environment: { DAVIT_HELM: helm, DAVIT_ALLOW_LOCAL_REPOSITORIES: 'true' } });
    const { client } = setup.davit;
    const { url, username, password } = repository;
    const record = { name: 'charts', kind: 'HTTPS' as const, url, skip_tls_verification: false, config: { username, password } };
    repositoryId = (await client.call('createHelmRepository', { params: setup.ids, body: record })).id;
    await client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
  });
  afterAll(async () => {
    await setup?.close();
    await repository?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const ofRepository = (version = '1.0.0'): Body['source'] => ({
    helm_repository: { repository: repositoryId, chart_name: 'web', chart_version: version },
  });
  const image = ['image', cluster.image];
  const create = async (name: string, body: Partial<Body> = {}): Promise<Params> => {
    const values_override = { set: [image], ...body.values_override };
    const whole = { name, timeout_sec: 60, source: ofRepository(), ...body, values_override };
    return {
      helmId: (await setup.davit.client.call('createHelm', { params: { environmentId: setup.environmentId }, body: whole })).id,
    };
  };
  const ended = async (params: Params, act: () => Promise<unknown>) => {
    await setup.settled(act);
    return setup.davit.client.call('getHelmStatus', { params });
  };
  const deploy = (params: Params, body: CallInput<'deployHelm'>['body'] = {}) =>
    ended(params, () => setup.davit.client.call('deployHelm', { params, body }));
  const releaseOf = ({ helmId }: Params): string => `helm-z${helmId.slice(0, 8)}`;
  const page = async (params: Params): Promise<Record<string, unknown>> => {
    const text = await setup.answered(`${releaseOf(params)}-web`, ':80/proxy/index.html');
    return text.startsWith('{') ? JSON.parse(text) : { status: text };
  };
  const serves = async (params: Params, expected: object): Promise<void> => {
    await expect.poll(() => page(params)).toMatchObject(expected);
  };
  const edit = (params: Params, body: CallInput<'editHelm'>['body']) => setup.davit.client.call('editHelm', { params, body });

  test('of a repository is installed with the values of all sources, and its secrets stay out of the logs', async () => {
    const { client } = setup.davit;
    web = await create('web', {
      values_override: {
        set: [image, ['page.set', 'true']],
        set_string: [['page.string', '12']],
        set_json: [['page.json', '{"list": [1, "a"]}']],
        file: {
          raw: {
            values: [
              { name: 'first.yaml', content: 'page: {raw: first, secret: davit.env.PASSWORD}\n' },
              { name: 'second.yaml', content: 'page:\n  raw: second\n' },
            ],
          },
          git: null,
        },
      },
    });
    await client.call('createVariable', {
      body: { key: 'PASSWORD', value: canary, is_secret: true, variable_scope: 'HELM', variable_parent_id: web.helmId },
    });
    expect(await deploy(web)).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE', failure: null });
    await serves(web, {
      chart: '1.0.0',
      git: 'default',
      raw: 'second',
      secret: canary,
      set: true,
      string: '12',
      json: { list: [1, 'a'] },
    });
    const log = await setup.log();
    expect(log).toContain('Fetched web 1.0.0.');
    for (const text of [log, setup.davit.output]) {
      expect(text).not.toContain(canary);
      expect(text).not.toContain(repository.password);
    }
    expect(await client.call('getHelmKubernetesServices', { params: web })).toEqual({
      results: [
        {
          metadata: { name: `${releaseOf(web)}-web` },
          service_spec: {
            type: 'ClusterIP',
            ports: [{ name: 'http', port: 80 }],
            selectors: [{ key: 'app', value: `${releaseOf(web)}-web` }],
          },
        },
      ],
    });
    await expect.poll(async () => (await client.call('getHelmStatus', { params: web })).running_status).toBe('RUNNING');
    await expect
      .poll(async () => (await client.call('listHelmLog', { params: web, query: {} })).results.map(({ message }) => message))
      .toContain('serving');
  });

  test('is upgraded to another version; what would change is told before', async () => {
    const { client } = setup.davit;
    await edit(web, { source: ofRepository('1.1.0') });
    await setup.settled(() => client.call('deployHelm', { params: web, query: { forceEvent: 'DIFF' } }));
    expect(await setup.log()).toContain(`Secret ${releaseOf(web)}-www`);
    expect(await page(web)).toMatchObject({ chart: '1.0.0' });
    expect((await client.call('getHelmStatus', { params: web })).service_deployment_status).toBe('OUT_OF_DATE');
    expect(await deploy(web)).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE', failure: null });
    await serves(web, { chart: '1.1.0' });
  });

  test('that fails says why and what, and the former release serves on', async () => {
    const set = (script: string) => edit(web, { values_override: { set: [image, ['page.set', 'failed'], ['script', script]] } });
    await edit(web, { values_override: { set: [['image', cluster.image.replace(/:[^:/]*$/, ':nope')]] } });
    const absent = await deploy(web);
    expect(absent).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'IMAGE_NOT_FOUND' } });
    expect(absent.failure?.message).toContain(`Deployment ${releaseOf(web)}-web`);
    expect(await page(web)).toMatchObject({ chart: '1.1.0', set: true });
    await set('echo no such table; exit 3');
    await edit(web, { timeout_sec: 25 });
    const crashed = await deploy(web);
    expect(crashed).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'PROCESS_EXITED' } });
    expect(JSON.stringify(crashed.failure)).toContain('no such table');
    expect(await page(web)).toMatchObject({ chart: '1.1.0', set: true });
    await edit(web, { values_override: { set: [image, ['replicas', 'many']] }, timeout_sec: 60 });
    const broken = await deploy(web);
    expect(broken).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'HELM_FAILED' } });
    expect(await page(web)).toMatchObject({ chart: '1.1.0', set: true });
    await edit(web, { values_override: { set: [image] }, arguments: ['--kube-context=other'] });
    await expect(deploy(web)).rejects.toMatchObject({ status: 400, code: 'NOT_SUPPORTED' });
    await edit(web, { arguments: ['--atomic', '--history-max=5'] });
  });

  test('that makes what is not in its namespace is refused before anything is made, unless it may', async () => {
    const reader = await create('reader', { values_override: { set: [image, ['reader', 'true']] } });
    const refused = await deploy(reader);
    expect(refused.failure).toMatchObject({ code: 'HELM_OUTSIDE_ENVIRONMENT' });
    expect(refused.failure?.message).toContain(`ClusterRole ${releaseOf(reader)}-reader`);
    expect((await setup.allNames('Deployment')).filter((name) => name.startsWith(releaseOf(reader)))).toEqual([]);
    await edit(reader, { allow_cluster_wide_resources: true });
    expect(await deploy(reader)).toMatchObject({ state: 'DEPLOYED', failure: null });
    await ended(reader, () => setup.davit.client.call('uninstallHelm', { params: reader }));
  });

  test('that looks at the secrets of others sees none', async () => {
    const spy = await create('spy', { values_override: { set: [image, ['spy', 'true']] } });
    const status = await deploy(spy);
    // The cluster rejects the deployment: the account of the chart has access to its own namespace only.
    expect(status.failure).toMatchObject({ code: 'HELM_FAILED', message: expect.stringContaining('forbidden') });
    await ended(spy, () => setup.davit.client.call('uninstallHelm', { params: spy }));
  });

  test('is brought back to an earlier release', async () => {
    const { results } = await setup.davit.client.call('listHelmDeploymentHistoryV2', { params: web });
    const release_id = results.at(-1)?.release_id;
    expect(await deploy(web, { release_id })).toMatchObject({ state: 'DEPLOYED', failure: null, release_id });
    await serves(web, { chart: '1.0.0', secret: canary, set: true });
  });

  test('has no pods while it is stopped, and has them again after the next deployment', async () => {
    const { client } = setup.davit;
    const pods = async () => (await setup.allNames('Pod')).filter((name) => name.startsWith(releaseOf(web)));
    expect((await ended(web, () => client.call('stopHelm', { params: web }))).state).toBe('STOPPED');
    expect(await pods()).toEqual([]);
    expect((await deploy(web)).state).toBe('DEPLOYED');
    await serves(web, { chart: '1.1.0' });
    expect(await pods()).toHaveLength(1);
  });

  // The server is killed before anything was made, after the upgrade was made, or in the middle of the upgrade.
  test.each(['obtain-chart:after', 'install:after'] as const)('goes on when the server is killed at %s', async (point) => {
    await edit(web, { values_override: { set: [image, ['page.set', point]] } });
    setup.davit.order(point, 'kill');
    const status = await ended(web, async () => {
      await setup.davit.client.call('deployHelm', { params: web, body: {} });
      await setup.davit.exited();
      await setup.davit.serve();
    });
    expect(status).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves(web, { set: point });
  });

  test('goes on when the server is killed while Helm waits, and is brought back when it is canceled then', async () => {
    const { client } = setup.davit;
    const slow = (text: string, seconds: number) =>
      edit(web, {
        values_override: {
          set: [image, ['page.set', text], ['script', `sleep ${seconds}; trap "exit 0" TERM; httpd -f -p 8080 -h /www & wait`]],
        },
      });
    const revisions = async () =>
      (await setup.allNames('Secret')).filter((name) => name.startsWith(`sh.helm.release.v1.${releaseOf(web)}.`)).length;
    const newest = async () => {
      const secrets = await setup.revisionsOf(releaseOf(web));
      return secrets.at(-1)?.status;
    };
    expect(await revisions()).toBeGreaterThan(0);
    await slow('slow', 8);
    const status = await ended(web, async () => {
      await client.call('deployHelm', { params: web, body: {} });
      await expect.poll(newest).toBe('pending-upgrade');
      await setup.davit.kill('SIGKILL');
      await setup.davit.serve();
    });
    expect(status).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves(web, { set: 'slow' });
    expect(await setup.log()).toContain('now resumes it');

    await slow('slower', 40);
    const canceled = await ended(web, async () => {
      await client.call('deployHelm', { params: web, body: {} });
      await expect.poll(newest).toBe('pending-upgrade');
      await client.call('cancelEnvironmentDeployment', { params: { environmentId: setup.environmentId }, body: {} });
    });
    expect(canceled.state).toBe('CANCELED');
    expect(await newest()).toBe('deployed');
    expect(await page(web)).toMatchObject({ set: 'slow' });
  });

  test('comes from git as well, with values from git, at their commits', async () => {
    const location = { url: git.folder, branch: 'main' };
    const first = git.git('rev-parse', 'HEAD');
    const chart = await create('fromgit', {
      source: { git_repository: { ...location, root_path: '/charts/web' } },
      values_override: { set: [image], file: { raw: null, git: { git_repository: location, paths: ['values/live.yaml'] } } },
    });
    expect(await deploy(chart)).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves(chart, { chart: '9.9.9', git: 'from git', raw: 'from git' });
    git.commit('newer values', { 'values/live.yaml': 'page: {git: newer}\n' });
    expect((await deploy(chart)).state).toBe('DEPLOYED');
    await serves(chart, { git: 'newer', raw: 'default' });
    const at = { git_commit_id: first, values_override_git_commit_id: first };
    expect((await deploy(chart, at)).state).toBe('DEPLOYED');
    await serves(chart, { git: 'from git' });
    git.git('rm', '--quiet', 'charts/web/values.yaml');
    git.commit('a link');
    symlinkSync('/etc/hostname', join(git.folder, 'charts/web/values.yaml'));
    git.commit('a link to this machine');
    expect((await deploy(chart)).failure?.code).toBe('HELM_CHART_INVALID');
    await ended(chart, () => setup.davit.client.call('uninstallHelm', { params: chart }));
  });

  test('may be made of others: of a repository, and of a folder beside it', async () => {
    const charts = new TestRepository(join(folder, 'charts'));
    const open = await startChartRepository(['1.0.0', '1.1.0'], { isOpen: true });
    try {
      const note = 'apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Release.Name }}-note}\n';
      const umbrella = (version: string) => {
        const dependencies = [
          { name: 'web', version, repository: open.url },
          { name: 'note', version: '0.1.0', repository: 'file://../note' },
        ];
        return { 'charts/both/Chart.yaml': JSON.stringify({ apiVersion: 'v2', name: 'both', version: '1.2.3', dependencies }) };
      };
      charts.commit('a chart of charts', {
        'charts/note/Chart.yaml': 'apiVersion: v2\nname: note\nversion: 0.1.0\n',
        'charts/note/templates/note.yaml': note,
        ...umbrella('~1.0'),
      });
      const both = await create('both', {
        source: { git_repository: { url: charts.folder, branch: 'main', root_path: '/charts/both' } },
        values_override: { set: [['web.image', cluster.image]] },
      });
      expect(await deploy(both)).toMatchObject({ state: 'DEPLOYED', failure: null });
      // The version is not 1.1.0, which the repository also has.
      await serves(both, { chart: '1.0.0' });
      expect(await setup.allNames('Secret')).toContain(`${releaseOf(both)}-note`);
      charts.commit('a version that nobody has', umbrella('~9.0'));
      const { failure } = await deploy(both);
      expect(failure).toMatchObject({ code: 'HELM_FAILED' });
      expect(failure?.message).toContain('helm dependency failed');
      await serves(both, { chart: '1.0.0' });
      await ended(both, () => setup.davit.client.call('uninstallHelm', { params: both }));
    } finally {
      await open.close();
    }
  });

  test.skipIf(!hasRegistry)('comes from an OCI registry', async () => {
    const registry = await startTestRegistry();
    try {
      repository.push('1.1.0', registry);
      const { client } = setup.davit;
      const { username, password } = registry;
      const url = `${registry.url.replace('http:', 'oci:')}/charts`;
      const body = {
        name: 'oci',
        kind: 'OCI_GENERIC_CR' as const,
        url,
        skip_tls_verification: false,
        config: { username, password },
      };
      const record = await client.call('createHelmRepository', { params: setup.ids, body });
      const source = (chart_version: string): Body['source'] => ({
        helm_repository: { repository: record.id, chart_name: 'web', chart_version },
      });
      const chart = await create('fromoci', { source: source('1.1.0') });
      expect(await deploy(chart)).toMatchObject({ state: 'DEPLOYED', failure: null });
      await serves(chart, { chart: '1.1.0' });
      await edit(chart, { source: source('1.2.0') });
      const missed = await deploy(chart);
      expect(missed.failure?.message).toContain('1.2.0');
      await serves(chart, { chart: '1.1.0' });
      await ended(chart, () => client.call('uninstallHelm', { params: chart }));
    } finally {
      await registry.close();
    }
  });

  test('answers outside where its ports lead in, found by name or by what a Service selects', async () => {
    const { client } = setup.davit;
    const name = `${releaseOf(web)}-web`;
    const selectors = [{ key: 'app', value: name }];
    const links = async () => (await client.call('listHelmLinks', { params: web })).results.map(({ url }) => url);
    const backend = async () => (await setup.ingress(web.helmId))?.spec?.rules;
    for (const location of [{ service_name: name }, { service_selectors: selectors }]) {
      await edit(web, {
        ports: [{ name: 'web', internal_port: 80, is_default: true, ...location }],
        values_override: { set: [image] },
      });
      expect(await deploy(web)).toMatchObject({ state: 'DEPLOYED', failure: null });
      const [url = ''] = await links();
      expect(url).toMatch(/^http:\/\/.*\.apps\.example\.org:8080$/);
      const expected = {
        host: new URL(url).hostname,
        http: { paths: [{ backend: { service: { name, port: { number: 80 } } } }] },
      };
      expect(await backend()).toMatchObject([expected]);
    }
    await edit(web, { ports: [{ internal_port: 80, service_selectors: [{ key: 'app', value: 'nobody' }] }] });
    expect((await deploy(web)).failure?.message).toContain('app=nobody');
    await edit(web, { ports: [] });
    expect((await deploy(web)).state).toBe('DEPLOYED');
    expect(await setup.names('Ingress', web.helmId)).toEqual([]);
  });

  test('is deployed by an account that may do no more than the manifest for charts says', async () => {
    const { client } = setup.davit;
    const account = await makeAccount(cluster.kubeconfig, setup.installation);
    try {
      await client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfigWith(account.token) });
      await edit(web, { values_override: { set: [image, ['page.set', 'least']] } });
      expect(await deploy(web)).toMatchObject({ state: 'DEPLOYED', failure: null });
      await serves(web, { set: 'least' });
      expect((await ended(web, () => client.call('stopHelm', { params: web }))).state).toBe('STOPPED');
      expect((await deploy(web)).state).toBe('DEPLOYED');
      await serves(web, { set: 'least' });
      await edit(web, { values_override: { set: [['image', cluster.image.replace(/:[^:/]*$/, ':nope')]] } });
      expect((await deploy(web)).failure?.code).toBe('IMAGE_NOT_FOUND');
      expect(await page(web)).toMatchObject({ set: 'least' });
    } finally {
      await client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
      await account.remove();
    }
  });

  test('that is deleted leaves nothing, its volumes neither', async () => {
    const { client } = setup.davit;
    await edit(web, { values_override: { set: [image, ['store', 'true']] } });
    expect(await deploy(web)).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect(await setup.allNames('PersistentVolumeClaim')).toHaveLength(1);
    await setup.settled(() => client.call('deleteHelm', { params: web }));
    await expect(client.call('getHelm', { params: web })).rejects.toMatchObject({ status: 404 });
    const left = async () => {
      const kinds = ['Deployment', 'StatefulSet', 'Pod', 'Secret', 'Service', 'PersistentVolumeClaim'];
      return (await Promise.all(kinds.map((kind) => setup.allNames(kind)))).flat().filter((name) => name.includes('helm'));
    };
    await expect.poll(left).toEqual([]);
  });
});
