import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, closeApi, openApi, type Api, type KubernetesObject } from '../packages/drivers/src/kubernetes/client/api.ts';
import { list } from '../packages/drivers/src/kubernetes/client/follow.ts';
import { readKubeconfig } from '../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { buildNamespaceName } from '../packages/drivers/src/kubernetes/names/names.ts';
import { pathOf } from '../packages/drivers/src/kubernetes/client/objects.ts';
import { testBuilds, testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../packages/drivers/src/source/testing.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import { eventually } from './support/eventually.ts';
import { giveHostNetwork } from './support/host-network.ts';
import { KubernetesSetup } from './support/kubernetes-setup.ts';

/*
 * An application that is built on the cluster, by a Davit without a container engine. The registry is on 127.0.0.1, so
 * the nodes must be this machine, and the pods of builds use its network. Each test builds on the one before.
 */

const cluster = testCluster();
const canary = 'canary-of-the-build';
const secretKey = Buffer.alloc(32, 9).toString('base64');
const signal = new AbortController().signal;

describe.skipIf(cluster.missing !== null)(`builds on a cluster${cluster.missing === null ? '' : ` (${cluster.missing})`}`, () => {
  let setup: KubernetesSetup;
  let own: TestRegistry;
  let git: GitServer;
  let api: Api;
  let takeBack: () => Promise<void>;
  let folder: ReturnType<typeof scratchFolder>;
  let web: TestRepository;
  let applicationId = '';
  let namespace = '';

  beforeAll(async () => {
    api = openApi(readKubeconfig(cluster.kubeconfig));
    own = await startTestRegistry();
    folder = scratchFolder();
    git = await startGitServer(folder.path);
    web = new TestRepository(join(folder.path, 'web'));
    const { image, isolation } = testBuilds();
    setup = await KubernetesSetup.open(cluster, {
      environment: { DAVIT_LOCAL_ENGINE: 'false', DAVIT_SECRET_KEY: secretKey },
      settings: async (made) => ({
        image_registry: await made.imageRegistry(own),
        image_folder: 'shipyard/davit',
        build_isolation: isolation,
        build_memory_mib: 512,
        ...(image !== null && { builder_image: image }),
      }),
    });
    namespace = buildNamespaceName(setup.installation);
    takeBack = await giveHostNetwork(api, namespace);
    await setup.davit.client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
  });
  afterAll(async () => {
    await setup?.close();
    await takeBack?.();
    await call(api, { method: 'DELETE', path: pathOf('Namespace', { name: namespace }), signal, accept: [404] });
    closeApi(api);
    await Promise.all([own?.close(), git?.close()]);
    folder?.remove();
  });

  const commit = (version: string, ...lines: string[]): string =>
    web.commit(version, {
      Dockerfile: [
        `FROM ${cluster.image}`,
        'ARG PASSWORD=none',
        'RUN mkdir -p /www && echo "kept layer, password $PASSWORD"',
        `RUN echo ${version} >/www/index.html`,
        ...lines,
        'CMD ["httpd", "-f", "-p", "8080", "-h", "/www"]',
        '',
      ].join('\n'),
    });
  const begin = () => setup.davit.client.call('deployApplication', { params: { applicationId } });
  const status = () => setup.davit.client.call('getApplicationStatus', { params: { applicationId } });
  const deploy = async () => {
    await setup.settled(begin);
    return status();
  };
  const serves = (version: string) =>
    eventually(
      async () => ((await setup.requested(applicationId, ':8080/proxy/index.html')) === version ? true : undefined),
      version,
      90_000,
    );
  const left = async (kind: 'Job' | 'Pod' | 'Secret') => {
    const { items } = await list<KubernetesObject>(api, { path: pathOf(kind, { namespace }), query: {} }, signal);
    return items.map(({ metadata }) => metadata?.name ?? '');
  };
  const nothingLeft = async () => {
    await expect.poll(async () => [await left('Job'), await left('Pod'), await left('Secret')]).toEqual([[], [], []]);
  };
  const printed = async (text: RegExp) => {
    await eventually(async () => (text.test(await setup.log()) ? true : undefined), String(text), 60_000);
  };

  test('an application is built on the cluster, pushed, and runs from there', async () => {
    commit('v1');
    const params = { environmentId: setup.environmentId };
    const body = {
      name: 'web',
      git_repository: { url: `${git.url}/web`, branch: 'main' },
      build_mode: 'DOCKER' as const,
      dockerfile_path: 'Dockerfile',
      cpu: 50,
      memory: 64,
      healthchecks: {},
      ports: [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' as const }],
    };
    applicationId = (await setup.davit.client.call('createApplication', { params, body })).id;
    const secret = { key: 'PASSWORD', value: canary };
    await setup.davit.client.call('createApplicationSecret', { params: { applicationId }, body: secret });
    expect(await deploy()).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves('v1');
    const log = await setup.log();
    expect(log).toContain(`in the namespace ${namespace}`);
    expect(log).toMatch(/^#\d+ kept layer, password none$/m);
    expect(log).toContain('PASSWORD gets no value');
    expect(log + setup.davit.output).not.toContain(own.password);
    expect(log).not.toContain(canary);
    await nothingLeft();
  });

  test('an unchanged commit is not built again, and of a changed one only what changed', async () => {
    await deploy();
    expect(await setup.log()).not.toContain('Building on the cluster');
    commit('v2');
    expect(await deploy()).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves('v2');
    const log = await setup.log();
    expect(log).toContain('CACHED');
    expect(log).not.toMatch(/^#\d+ kept layer/m);
  });

  test('a build that fails says why, and the former release goes on', async () => {
    commit('broken', 'RUN echo no compiler here; exit 2');
    expect(await deploy()).toMatchObject({ state: 'BUILD_ERROR', failure: { code: 'BUILD_COMMAND_FAILED' } });
    expect(JSON.stringify((await status()).failure)).toContain('no compiler here');
    await serves('v2');
    await nothingLeft();
  });

  test('a deployment that is canceled takes its build away at once', async () => {
    commit('slow', 'RUN echo under-way; sleep 4321');
    await setup.settled(async () => {
      await begin();
      await printed(/^#\d+ under-way$/m);
      const params = { environmentId: setup.environmentId };
      await setup.davit.client.call('cancelEnvironmentDeployment', { params, body: {} });
    });
    expect((await status()).state).toMatch(/CANCELED/);
    await nothingLeft();
    await serves('v2');
  });

  test('a worker that is killed in the middle of a build is followed by another one, which ends what it left', async () => {
    commit('v3', 'RUN echo under-way-again; sleep 15');
    await begin();
    await printed(/^#\d+ under-way-again$/m);
    const [former = ''] = await left('Job');
    expect(former).not.toBe('');
    const other = await setup.davit.peer();
    try {
      await setup.davit.kill('SIGKILL');
      await eventually(
        async () => ((await left('Job')).includes(former) ? undefined : true),
        'the end of the former build',
        60_000,
      );
      await serves('v3');
      await nothingLeft().catch(async (error: unknown) => {
        throw new Error(`${await setup.log()}\n${other.output}`, { cause: error });
      });
    } finally {
      await other.remove();
      await setup.davit.recover();
    }
    expect(await status()).toMatchObject({ state: 'DEPLOYED', failure: null });
  });
});
