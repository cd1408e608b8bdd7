import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../packages/drivers/src/source/testing.ts';
import { databaseClientImage, postgresImage } from '../packages/testkit/src/database-images.ts';
import { loadNodeImage } from '../packages/testkit/src/engine-images.ts';
import { startTestEngine, testEngineKinds, testRegistryPort } from '../packages/testkit/src/engines.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import { eventually } from './support/eventually.ts';
import { KubernetesSetup, madeKinds } from './support/kubernetes-setup.ts';
import { startLoad } from './support/load.ts';
import { node } from './support/setup.ts';

/*
 * A whole application on Kubernetes: built from git on this machine, pushed to a registry that requires a password,
 * with a database, jobs, a secret, a file, storage and a public address. Each test builds on the one before.
 */

const cluster = testCluster();
const [kind] = testEngineKinds();
const missing = cluster.missing ?? (kind === undefined ? 'there is no container engine to build with' : null);
const canary = 'canary-of-the-shop';

/**
 * A script that responds with its version, the number of its starts on its volume, and the number of visits counted by
 * the database.
 */
const visit = `#!/bin/sh
echo 'Content-Type: text/plain'
echo
count=$(psql "$DATABASE_URL" -qAtX -c 'insert into visit values (1)' -c 'select count(*) from visit' 2>&1)
echo "$VERSION $PASSWORD $(cat /etc/shop/motd) starts=$(wc -l </data/starts) visits=$count"
`;
const start = `echo x >>/data/starts; exec httpd -f -p 8080 -h /www`;
const dockerfile = (base: string, version: string): string =>
  [
    `FROM ${base}`,
    `ENV VERSION=${version}`,
    'COPY visit /www/cgi-bin/visit',
    'RUN chmod +x /www/cgi-bin/visit',
    `ENTRYPOINT ["/bin/sh", "-c"]`,
    `CMD ["${start}"]`,
    '',
  ].join('\n');

/**
 * The address of an ingress controller of the cluster, for example `http://192.0.2.1`. Without it, no test sends
 * requests from outside.
 */
const { DAVIT_TEST_KUBERNETES_INGRESS: controller = '' } = process.env;
const wanted = 10_000;
const wantedFromOutside = 3_000;
/**
 * On SIGTERM, the server closes each connection with its next response. Nothing else can do this for an L4 Service: if
 * a connection is closed while its client sends, the request is lost, whatever the cluster does.
 */
const server = `
const http = require('node:http');
let isEnding = false;
const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(200, isEnding ? { connection: 'close' } : {}).end(process.env.VERSION));
});
server.listen(8080);
process.on('SIGTERM', () => {
  isEnding = true;
  setInterval(() => server.getConnections((_error, count) => count === 0 && process.exit(0)), 20);
});
`;

/**
 * Sends a request with another host than that of the address. The request uses a new connection: a connection that was
 * opened too early may lead anywhere.
 */
function fetchAs(host: string, address: string): Promise<{ readonly status: number }> {
  return new Promise((resolve, reject) => {
    const sent = request(address, { headers: { host }, agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0 });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 5 s')));
    sent.on('error', reject);
    sent.end();
  });
}

describe.skipIf(missing !== null)(`a whole application on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let setup: KubernetesSetup;
  /** The registry of the base images, without authentication. */
  let open: TestRegistry;
  /** The registry of the images that Davit builds. */
  let own: TestRegistry;
  let git: GitServer;
  let folder: ReturnType<typeof scratchFolder>;
  let shop: TestRepository;
  const id = { store: '', web: '', migrate: '', nightly: '', front: '' };

  beforeAll(async () => {
    const engine = await startTestEngine(kind ?? 'docker');
    await loadNodeImage(new EngineClient(engine.socketPath), node);
    open = await startTestRegistry(await testRegistryPort(), { isOpen: true });
    own = await startTestRegistry(await testRegistryPort('second'));
    await open.pushImage('library/postgres', '15', await postgresImage());
    await open.pushImage('library/client', '1', await databaseClientImage());
    folder = scratchFolder();
    git = await startGitServer(folder.path);
    shop = new TestRepository(join(folder.path, 'shop'));
    const catalogue = join(folder.path, 'databases.json');
    const ours = readFileSync(new URL('../packages/server/data/databases.json', import.meta.url), 'utf8');
    writeFileSync(catalogue, ours.replaceAll('docker.io/', `${open.address}/`));
    setup = await KubernetesSetup.open(cluster, {
      socketPath: engine.socketPath,
      environment: { DAVIT_DATABASE_CATALOGUE: catalogue },
      settings: async (made) => ({
        image_registry: await made.imageRegistry(own),
        image_folder: 'shipyard/davit',
        // Users need this setting too: a controller takes seconds to learn of a change.
        ...(controller !== '' && { linger_seconds: 5 }),
      }),
    });
    await setup.davit.client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
  });
  afterAll(async () => {
    await setup?.close();
    await Promise.all([open?.close(), own?.close(), git?.close()]);
    folder?.remove();
  });

  const base = (): string => `${open.address}/library/client:1`;
  const commit = (version: string, files: Readonly<Record<string, string>> = {}): string =>
    shop.commit(version, { Dockerfile: dockerfile(base(), version), visit, ...files });
  const repository = () => ({ url: `${git.url}/shop`, branch: 'main' });
  const image = () => ({
    image: { image_name: setup.image.name, tag: setup.image.tag, registry_id: setup.registryId },
  });
  const deploy = (environmentId = setup.environmentId) =>
    setup.settled(() => setup.davit.client.call('deployEnvironment', { params: { environmentId } }), environmentId);
  const status = (applicationId = id.web) => setup.davit.client.call('getApplicationStatus', { params: { applicationId } });
  const deployOne = async (applicationId: string, body: { release_id?: string } = {}) => {
    await setup.settled(() => setup.davit.client.call('deployApplication', { params: { applicationId }, body }));
    return status(applicationId);
  };
  const deployWeb = (body: { release_id?: string } = {}) => deployOne(id.web, body);
  const visited = (service = id.web, namespace = setup.namespace) =>
    setup.requested(service, ':8080/proxy/cgi-bin/visit', namespace);
  /** Returns the version, the starts and the visits that the service reports. */
  const seen = async (service = id.web, namespace = setup.namespace): Promise<string> =>
    eventually(
      async () => {
        const answer = await visited(service, namespace);
        return answer.includes('visits=') && !answer.includes('ERROR') ? answer : undefined;
      },
      'an answer',
      60_000,
    );

  test('it is built, pushed and deployed with all that belongs to it', async () => {
    const { client } = setup.davit;
    const params = { environmentId: setup.environmentId };
    const database = { name: 'store', type: 'POSTGRESQL' as const, version: '15', mode: 'CONTAINER' as const, storage: 1 };
    id.store = (await client.call('createDatabase', { params, body: { ...database, cpu: 50, memory: 256 } })).id;
    commit('v1');
    const web = await client.call('createApplication', {
      params,
      body: {
        name: 'web',
        git_repository: repository(),
        build_mode: 'DOCKER',
        dockerfile_path: 'Dockerfile',
        cpu: 50,
        memory: 64,
        healthchecks: {},
        storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
        ports: [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' }],
      },
    });
    id.web = web.id;
    const at = { params: { applicationId: id.web } };
    await client.call('createApplicationSecret', { ...at, body: { key: 'PASSWORD', value: canary } });
    const file = { key: 'MOTD', value: 'welcome', mount_path: '/etc/shop/motd' };
    await client.call('createApplicationEnvironmentVariable', { ...at, body: file });
    const { results } = await client.call('listApplicationSecrets', at);
    const url = results.find((one) => one.service_id === id.store && one.key.endsWith('_DATABASE_URL'));
    const alias = { params: { ...at.params, secretId: url?.id ?? '' }, body: { key: 'DATABASE_URL' } };
    await client.call('createApplicationSecretAlias', alias);
    const shell = (script: string) => ({ entrypoint: '/bin/sh', arguments: ['-c', script] });
    const job = { healthchecks: {}, cpu: 50, memory: 64 };
    id.migrate = (
      await client.call('createJob', {
        params,
        body: {
          ...job,
          name: 'migrate',
          // The job uses the same image as the application, built from the same repository.
          source: { docker: { git_repository: repository(), dockerfile_path: 'Dockerfile' } },
          schedule: {
            on_start: shell('psql "$DATABASE_URL" -qX -c "create table if not exists visit (n int)" && echo migrated'),
          },
        },
      })
    ).id;
    const ofJob = { params: { jobId: id.migrate } };
    const secrets = await client.call('listJobSecrets', ofJob);
    const jobUrl = secrets.results.find((one) => one.service_id === id.store && one.key.endsWith('_DATABASE_URL'));
    const jobAlias = { params: { ...ofJob.params, secretId: jobUrl?.id ?? '' }, body: { key: 'DATABASE_URL' } };
    await client.call('createJobSecretAlias', jobAlias);
    id.nightly = (
      await client.call('createJob', {
        params,
        body: {
          ...job,
          name: 'nightly',
          source: image(),
          schedule: { cronjob: { ...shell('echo cleaned'), scheduled_at: '0 3 1 1 *', timezone: 'Europe/Berlin' } },
        },
      })
    ).id;
    await deploy();
    expect(await status()).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect(await seen()).toBe(`v1 ${canary} welcome starts=1 visits=1`);
    for (const jobId of [id.migrate, id.nightly])
      expect(await client.call('getJobStatus', { params: { jobId } })).toMatchObject({ state: 'DEPLOYED', failure: null });
    const printed = await client.call('listJobLog', { ...ofJob, query: {} });
    expect(printed.results.map(({ message }) => message)).toContain('migrated');
    const links = await client.call('listApplicationLinks', at);
    expect(links.results.map((link) => link.url)).toEqual([
      expect.stringMatching(/^http:\/\/web-live-.*apps\.example\.org:8080$/),
    ]);
    expect(await setup.names('Ingress', id.web)).toHaveLength(1);
    const log = await setup.log();
    expect(log).toContain(`Pushing the image to ${own.address}/shipyard/davit/${id.web}:`);
    expect(log).not.toContain(canary);
    expect(log + setup.davit.output).not.toContain(own.password);
  });

  test('a new commit replaces it, an unchanged one is neither built nor started again', async () => {
    commit('v2');
    expect(await deployWeb()).toMatchObject({ state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE' });
    expect(await seen()).toBe(`v2 ${canary} welcome starts=2 visits=2`);
    const pods = await setup.names('Pod', id.web);
    expect((await deployWeb()).state).toBe('DEPLOYED');
    expect(await setup.names('Pod', id.web)).toEqual(pods);
    expect((await setup.log()).split('\n').filter((line) => line.startsWith('Built '))).toEqual([]);
  });

  test('a build that fails and a process that ends leave the former release serving', async () => {
    shop.commit('broken', { Dockerfile: `FROM ${base()}\nRUN echo no compiler here; exit 2\n` });
    expect(await deployWeb()).toMatchObject({ state: 'BUILD_ERROR', failure: { code: 'BUILD_COMMAND_FAILED' } });
    expect(await seen()).toContain('v2 ');
    commit('v3', { Dockerfile: `FROM ${base()}\nCMD ["/bin/sh", "-c", "echo no such table; exit 3"]\n` });
    const crashed = await deployWeb();
    expect(crashed).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'PROCESS_EXITED' } });
    expect(JSON.stringify(crashed.failure)).toContain('no such table');
    // With storage, the former instance stopped before the deployment. It now runs again.
    expect(await seen()).toContain('v2 ');
  });

  test('a rollback runs the first release again, without a build', async () => {
    const params = { applicationId: id.web };
    const { results } = await setup.davit.client.call('listApplicationDeploymentHistoryV2', { params });
    const { release_id: releaseId } = results.at(-1) ?? {};
    expect(await deployWeb({ release_id: releaseId ?? '' })).toMatchObject({ state: 'DEPLOYED', release_id: releaseId });
    expect(await seen()).toContain('v1 ');
    expect(await setup.log()).not.toContain('Built ');
  });

  test(`${wanted} requests to its Service during five redeploys of two instances: none fails`, async () => {
    const { client } = setup.davit;
    new TestRepository(join(folder.path, 'front')).commit('first', {
      Dockerfile: `FROM ${node}\nCOPY server.js /\nUSER 1000\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': server,
    });
    const created = await client.call('createApplication', {
      params: { environmentId: setup.environmentId },
      body: {
        name: 'front',
        git_repository: { url: `${git.url}/front`, branch: 'main' },
        build_mode: 'DOCKER',
        dockerfile_path: 'Dockerfile',
        cpu: 100,
        memory: 128,
        min_running_instances: 2,
        max_running_instances: 2,
        healthchecks: {},
        ports: [{ internal_port: 8080, publicly_accessible: false, protocol: 'HTTP' }],
      },
    });
    id.front = created.id;
    const params = { applicationId: id.front };
    const variable = await client.call('createApplicationEnvironmentVariable', { params, body: { key: 'VERSION', value: '0' } });
    expect(await deployOne(id.front)).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect(await setup.names('PodDisruptionBudget', id.front)).toHaveLength(1);
    const address = await setup.addressOf(id.front);
    // Nodes learn of the first instances of a new Service a moment after the instances are ready. From then on no
    // request may be lost.
    const answers = () => fetchAs('front', `http://${address}:8080`).catch(() => null);
    await eventually(async () => ((await answers())?.status === 200 ? true : undefined), 'the first answer', 90_000);
    const load = startLoad(`http://front:8080`, { connectTo: address });
    for (let version = 1; version <= 5; version += 1) {
      const at = { ...params, environmentVariableId: variable.id };
      await client.call('editApplicationEnvironmentVariable', { params: at, body: { key: 'VERSION', value: String(version) } });
      expect(await deployOne(id.front)).toMatchObject({ state: 'DEPLOYED', failure: null });
    }
    const result = await load.end(wanted);
    expect(result.failures).toEqual([]);
    expect(result.succeeded).toBeGreaterThanOrEqual(wanted);
    expect([...result.versions].toSorted()).toEqual(['0', '1', '2', '3', '4', '5']);
  });

  test.skipIf(controller === '')(
    `${wantedFromOutside} requests to a public address through an ingress controller during three redeploys: none fails`,
    async () => {
      const { client } = setup.davit;
      const params = { applicationId: id.front };
      const ports = [{ internal_port: 8080, publicly_accessible: true, protocol: 'HTTP' as const }];
      const scale = { min_running_instances: 2, max_running_instances: 2 };
      await client.call('editApplication', { params, body: { healthchecks: {}, ports, ...scale } });
      expect(await deployOne(id.front)).toMatchObject({ state: 'DEPLOYED', failure: null });
      const [link] = (await client.call('listApplicationLinks', { params })).results;
      const { host } = new URL(link?.url ?? '');
      const { hostname, port } = new URL(controller);
      const requested = async (): Promise<true | undefined> => {
        const { status } = await fetchAs(host, controller);
        return status === 200 ? true : undefined;
      };
      await eventually(requested, 'an answer of the controller', 60_000);
      const { results } = await client.call('listApplicationEnvironmentVariable', { params });
      const { id: environmentVariableId = '' } = results.find(({ key }) => key === 'VERSION') ?? {};
      // Controllers that restart their proxy for a change cut the connections that clients keep open to the proxy.
      const load = startLoad(`http://${hostname}:${port || 80}`, { connectTo: hostname, headers: { host }, isFresh: true });
      for (const value of ['6', '7', '8']) {
        const at = { ...params, environmentVariableId };
        await client.call('editApplicationEnvironmentVariable', { params: at, body: { key: 'VERSION', value } });
        expect(await deployOne(id.front)).toMatchObject({ state: 'DEPLOYED', failure: null });
      }
      const result = await load.end(wantedFromOutside);
      expect(result.failures).toEqual([]);
      expect([...result.versions].toSorted()).toEqual(['5', '6', '7', '8']);
    },
  );

  test('it is scaled up and down', async () => {
    const { client } = setup.davit;
    const params = { applicationId: id.front };
    for (const count of [3, 1]) {
      const body = { healthchecks: {}, min_running_instances: count, max_running_instances: count };
      await client.call('editApplication', { params, body });
      expect(await deployOne(id.front)).toMatchObject({ state: 'DEPLOYED', failure: null });
      const isSo = async () => ((await setup.names('Pod', id.front)).length === count ? true : undefined);
      await eventually(isSo, `${count} pods`, 60_000);
    }
  });

  test('the environment is stopped and started, and its data are there', async () => {
    const params = { environmentId: setup.environmentId };
    await setup.settled(() => setup.davit.client.call('stopEnvironment', { params }));
    expect((await status()).state).toBe('STOPPED');
    await eventually(async () => ((await setup.names('Pod')).length === 0 ? true : undefined), 'the end of all pods', 60_000);
    commit('v4');
    await deploy();
    const answer = await seen();
    expect(answer).toContain('v4 ');
    expect(Number(/visits=(\d+)/.exec(answer)?.[1])).toBeGreaterThan(2);
    expect(Number(/starts=(\d+)/.exec(answer)?.[1])).toBeGreaterThan(2);
  });

  test('a clone has its own data; deleted, both leave nothing', async () => {
    const { client } = setup.davit;
    const params = { environmentId: setup.environmentId };
    const clone = (await client.call('cloneEnvironment', { params, body: { name: 'copy' } })).id;
    await deploy(clone);
    const { results } = await client.call('listApplication', { params: { environmentId: clone } });
    expect(await seen(results[0]?.id, setup.namespaceOf(clone))).toContain('starts=1 visits=1');
    for (const environmentId of [clone, setup.environmentId]) {
      await client.call('deleteEnvironment', { params: { environmentId } });
      const gone = () =>
        client.call('getEnvironment', { params: { environmentId } }).then(
          () => undefined,
          () => true,
        );
      await eventually(gone, 'the end of the environment', 120_000);
      for (const madeKind of madeKinds)
        expect(await setup.names(madeKind, undefined, setup.namespaceOf(environmentId))).toEqual([]);
    }
    expect(await setup.hasNamespace()).toBe(false);
  });
});
