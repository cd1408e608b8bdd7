import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statement } from '../packages/db/src/index.ts';
import { readKubeconfig } from '../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../packages/drivers/src/source/testing.ts';
import { loadBusyboxImage } from '../packages/testkit/src/engine-images.ts';
import { startTestEngine, testEngineKinds, testRegistryPort } from '../packages/testkit/src/engines.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import type { Davit } from './support/davit.ts';
import { eventually } from './support/eventually.ts';
import { kubeconfigOf, KubernetesSetup } from './support/kubernetes-setup.ts';
import { busybox } from './support/setup.ts';
import { Way } from './support/way.ts';

/* Deployments on Kubernetes whose worker dies or whose cluster becomes unreachable. */

const cluster = testCluster();
const [kind] = testEngineKinds();
const missing = cluster.missing ?? (kind === undefined ? 'there is no container engine to build with' : null);
const secretKey = Buffer.alloc(32, 7).toString('base64');
const awayMilliseconds = 60_000;
const takenWithinMilliseconds = 20_000;

const runnerOf = statement<{ runner_id: string | null; status: string }>(
  'e2e_runner_of_newest',
  'SELECT runner_id, status FROM deployment ORDER BY sequence DESC LIMIT 1',
);

describe.skipIf(missing !== null)(`interruptions on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let setup: KubernetesSetup;
  let own: TestRegistry;
  let git: GitServer;
  let way: Way;
  let folder: ReturnType<typeof scratchFolder>;
  let web: TestRepository;
  let applicationId: string;

  const dockerfile = (version: string): string =>
    `FROM ${busybox}\nRUN mkdir -p /www && echo ${version} >/www/index.html\nCMD ["httpd", "-f", "-p", "8080", "-h", "/www"]\n`;
  const served = () => setup.requested(applicationId, ':8080/proxy/index.html');
  /** Fails with the log of the deployment after a wait has timed out. */
  const reported = async (error: unknown): Promise<never> => {
    throw new Error(await setup.log(), { cause: error });
  };
  const serves = async (version: string): Promise<void> => {
    await eventually(async () => ((await served()) === version ? true : undefined), version, 30_000).catch(reported);
  };

  beforeAll(async () => {
    const engine = await startTestEngine(kind ?? 'docker');
    await loadBusyboxImage(new EngineClient(engine.socketPath), busybox);
    own = await startTestRegistry(await testRegistryPort());
    folder = scratchFolder();
    git = await startGitServer(folder.path);
    web = new TestRepository(join(folder.path, 'web'));
    web.commit('v0', { Dockerfile: dockerfile('v0') });
    const access = readKubeconfig(cluster.kubeconfig);
    way = new Way(new URL(access.server));
    setup = await KubernetesSetup.open(cluster, {
      socketPath: engine.socketPath,
      environment: { DAVIT_SECRET_KEY: secretKey },
      // The certificate of every API server contains this name.
      kubeconfig: kubeconfigOf({ ...access, server: await way.open(), serverName: 'kubernetes.default' }),
      settings: async (made) => ({ image_registry: await made.imageRegistry(own) }),
    });
    await setup.davit.client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
    const made = await setup.davit.client.call('createApplication', {
      params: { environmentId: setup.environmentId },
      body: {
        name: 'web',
        git_repository: { url: `${git.url}/web`, branch: 'main' },
        build_mode: 'DOCKER',
        dockerfile_path: 'Dockerfile',
        cpu: 50,
        memory: 64,
        healthchecks: {},
        ports: [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' }],
      },
    });
    applicationId = made.id;
    await setup.settled(deploy);
    await serves('v0');
  });
  afterAll(async () => {
    way?.restore();
    await setup?.close();
    await Promise.all([own?.close(), git?.close(), way?.close()]);
    folder?.remove();
  });

  const deploy = () => setup.davit.client.call('deployApplication', { params: { applicationId } });
  const held = () => setup.davit.holds().catch(reported);
  const newest = () => setup.davit.database.database.one(runnerOf);

  // The step is done, but not yet recorded.
  const points = ['resolve', 'checkout', 'build', 'start', 'ready', 'route', 'retire'].map((step) => `${step}:after`);
  test.each(points)('another worker goes on within 20 s when one is killed at %s', async (point) => {
    web.commit(point, { Dockerfile: dockerfile(point) });
    setup.davit.order(point, 'hold');
    await deploy();
    await held();
    const former = await newest();
    const other: Davit = await setup.davit.peer();
    try {
      await setup.davit.kill('SIGKILL');
      const killed = Date.now();
      await eventually(
        async () => ((await newest()).runner_id === former.runner_id ? undefined : true),
        'another worker',
        30_000,
      );
      const taken = Date.now() - killed;
      expect(taken).toBeLessThan(takenWithinMilliseconds);
      const end = async () => ((await newest()).status === 'RUNNING' ? undefined : await newest());
      expect((await eventually(end, 'the end', 60_000)).status).toBe('SUCCEEDED');
      await serves(point);
      console.log(`${point}: taken up after ${taken} ms, ended after ${Date.now() - killed} ms`);
    } finally {
      await other.remove();
      await setup.davit.recover();
    }
  });

  test.each(['start:before', 'ready:before', 'route:before'])(
    'an API server that answers nothing for 60 s from %s on holds a deployment up, which goes on by itself',
    async (point) => {
      web.commit(point, { Dockerfile: dockerfile(`away ${point}`) });
      setup.davit.order(point, 'hold');
      await deploy();
      await held();
      way.isCut = true;
      setup.davit.release();
      await pause(awayMilliseconds);
      expect((await newest()).status).toBe('RUNNING');
      way.restore();
      const back = Date.now();
      const end = async () => ((await newest()).status === 'RUNNING' ? undefined : await newest());
      expect((await eventually(end, 'the end', 60_000)).status).toBe('SUCCEEDED');
      await serves(`away ${point}`);
      console.log(`${point}: ended ${Date.now() - back} ms after the API server was back`);
      expect(await setup.log()).toContain('does not answer');
    },
  );
});
