import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { EngineClient, type ListedContainer, type ListedNetwork } from '@davit/testkit/engine-client';
import type { CallInput } from '../../packages/client/src/index.ts';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../../packages/drivers/src/source/testing.ts';
import { loadBusyboxImage, loadNodeImage } from '../../packages/testkit/src/engine-images.ts';
import { startTestEngine, type EngineKind, type TestEngine } from '../../packages/testkit/src/engines.ts';
import { Davit } from './davit.ts';
import { eventually } from './eventually.ts';
import { installationOf } from './installation-id.ts';

export const busybox = 'davit-e2e/busybox:1';
export const node = 'davit-e2e/node:24';

type ApplicationFields = Partial<CallInput<'createApplication'>['body']>;

/** A container engine, a git server, a Davit that uses both, and one environment to deploy into. */
export class TestSetup {
  readonly engine: TestEngine;
  readonly docker: EngineClient;
  readonly davit: Davit;
  readonly git: GitServer;
  readonly repositories: { readonly path: string; remove(): void };
  organizationId = '';
  projectId = '';
  environmentId = '';
  #installation: string | undefined;

  private constructor(parts: { engine: TestEngine; davit: Davit; git: GitServer; repositories: TestSetup['repositories'] }) {
    this.engine = parts.engine;
    this.davit = parts.davit;
    this.git = parts.git;
    this.repositories = parts.repositories;
    this.docker = new EngineClient(parts.engine.socketPath);
  }

  static async open(kind: EngineKind, environment: Readonly<Record<string, string>> = {}): Promise<TestSetup> {
    const engine = await startTestEngine(kind);
    const repositories = scratchFolder();
    const git = await startGitServer(repositories.path);
    const davit = await Davit.start({ socketPath: engine.socketPath, environment });
    const setup = new TestSetup({ engine, davit, git, repositories });
    await loadBusyboxImage(setup.docker, busybox);
    const { client } = davit;
    setup.organizationId = (await client.call('createOrganization', { body: { name: 'Shipyard' } })).id;
    const organizationId = setup.organizationId;
    setup.projectId = (await client.call('createProject', { params: { organizationId }, body: { name: 'Dock' } })).id;
    setup.environmentId = await setup.newEnvironment('production');
    if (kind === 'podman') await setup.#claimDatabasePorts();
    return setup;
  }

  /**
   * Claims the ports that Davit assigns to the first public database of each type, for a service that is never
   * deployed. Tests on Docker and Podman run side by side on one machine: without this, both would listen on the same
   * ports.
   */
  async #claimDatabasePorts(): Promise<void> {
    const { client } = this.davit;
    const organizationId = (await client.call('createOrganization', { body: { name: 'Neighbour' } })).id;
    const { id: projectId } = await client.call('createProject', { params: { organizationId }, body: { name: 'Ports' } });
    const { id } = await client.call('createEnvironment', { params: { projectId }, body: { name: 'claimed' } });
    const ports = [5432, 3306, 6379, 27_017].map((internal_port) => ({
      internal_port,
      external_port: 10_000 + internal_port,
      protocol: 'TCP' as const,
      publicly_accessible: true,
    }));
    const git_repository = { url: `${this.git.url}/none`, branch: 'main' };
    const body = { name: 'claims', git_repository, dockerfile_path: 'Dockerfile', healthchecks: {}, ports };
    await client.call('createApplication', { params: { environmentId: id }, body });
  }

  async newEnvironment(name: string): Promise<string> {
    const { projectId } = this;
    return (await this.davit.client.call('createEnvironment', { params: { projectId }, body: { name } })).id;
  }

  loadNode(): Promise<string> {
    return loadNodeImage(this.docker, node);
  }

  /** Creates a repository with one commit of these files, served over HTTP. */
  repository(
    name: string,
    files: Readonly<Record<string, string>>,
  ): { readonly repository: TestRepository; readonly url: string } {
    const repository = new TestRepository(join(this.repositories.path, name));
    repository.commit('first', files);
    return { repository, url: `${this.git.url}/${name}` };
  }

  async application(name: string, url: string, fields: ApplicationFields = {}): Promise<string> {
    const { environmentId } = this;
    const body = {
      name,
      git_repository: { url, branch: 'main' },
      build_mode: 'DOCKER' as const,
      dockerfile_path: 'Dockerfile',
      ...fields,
    };
    return (await this.davit.client.call('createApplication', { params: { environmentId }, body })).id;
  }

  status(applicationId: string) {
    return this.davit.client.call('getApplicationStatus', { params: { applicationId } });
  }

  /**
   * Waits for one of these states. Fails at once, with the failure from the status, if the application ends in another
   * state.
   */
  async reaches(applicationId: string, ...states: readonly string[]) {
    return eventually(
      async () => {
        const status = await this.status(applicationId).catch(() => undefined);
        if (status === undefined) return undefined;
        if (states.includes(status.state)) return status;
        const ended = /_ERROR$|^CANCELED$/.test(status.state) && status.status_details.status !== 'QUEUED';
        if (ended) throw new Error(`state ${status.state}: ${JSON.stringify(status.failure)}\n${await this.log()}`);
        return undefined;
      },
      `state ${states.join(' or ')}`,
      120_000,
    );
  }

  /** Deploys the application and waits for the end of the whole deployment, not only of the application. */
  async deploy(applicationId: string, body: { git_commit_id?: string; release_id?: string } = {}) {
    const before = await this.latest(applicationId);
    await this.davit.client.call('deployApplication', { params: { applicationId }, body });
    return this.ends(applicationId, before);
  }

  /** Returns the latest deployment of the application that has left the queue. */
  async latest(applicationId: string): Promise<string | undefined> {
    return (await this.history(applicationId))[0]?.identifier.execution_id;
  }

  /**
   * Waits until a deployment after `former` has ended, no deployment is waiting, and the application has no former
   * instances left.
   */
  async ends(applicationId: string, former: string | undefined) {
    try {
      await this.idleAfter(async () => (await this.latest(applicationId)) !== former);
    } catch (error) {
      const status = JSON.stringify(await this.status(applicationId));
      const output = this.davit.output.split('\n').slice(-20).join('\n');
      throw new Error(`${status}\n${await this.log()}\n${output}`, { cause: error });
    }
    await this.formerGone(applicationId);
    return this.status(applicationId);
  }

  /** Waits until all containers of the service belong to one rollout. Does not wait if the engine is stopped. */
  async formerGone(serviceId: string): Promise<void> {
    if (this.engine.pid() === 0) return;
    const rollouts = async () => new Set((await this.containers(serviceId)).map(({ Labels }) => Labels['davit.rollout']));
    await eventually(async () => ((await rollouts()).size <= 1 ? true : undefined), 'the end of former instances', 120_000);
  }

  /** Waits until the condition holds and no deployment is running. */
  async idleAfter(happened: () => Promise<boolean>): Promise<void> {
    await eventually(async () => ((await happened()) && (await this.isIdle()) ? true : undefined), 'the end', 120_000);
  }

  async isIdle(): Promise<boolean> {
    const { environmentId } = this;
    const { results } = await this.davit.client.call('listEnvironmentDeploymentHistoryV2', { params: { environmentId } });
    const waiting = await this.davit.client.call('listDeploymentRequestByEnvironmentId', { params: { environmentId } });
    return (
      waiting.results.length === 0 && results.every((one) => !['ONGOING', 'CANCELING', 'QUEUED'].includes(one.action_status))
    );
  }

  async history(applicationId: string) {
    return (await this.davit.client.call('listApplicationDeploymentHistoryV2', { params: { applicationId } })).results;
  }

  async log(): Promise<string> {
    const { environmentId } = this;
    const lines = await this.davit.client.call('listEnvironmentLogs', { params: { environmentId } });
    return lines
      .map((line) => `${line.details.stage?.step ?? ''}: ${line.error?.user_log_message ?? line.message?.safe_message ?? ''}`)
      .join('\n');
  }

  /** Returns when the latest deployment was resumed after this moment, in milliseconds since 1970. */
  async resumedAt(since: number): Promise<number | undefined> {
    const { environmentId } = this;
    const lines = await this.davit.client.call('listEnvironmentLogs', { params: { environmentId } });
    return lines
      .filter((line) => line.details.stage?.step === 'resume')
      .map((line) => Date.parse(line.timestamp))
      .find((at) => at >= since);
  }

  async link(applicationId: string): Promise<string> {
    const { results } = await this.davit.client.call('listApplicationLinks', { params: { applicationId } });
    const [first] = results;
    if (first === undefined) throw new Error('the application has no address');
    return first.url;
  }

  /** Sends a request to an address of the gateway. Its host names resolve to this machine wherever the test runs. */
  async fetch(address: string): Promise<{ readonly status: number; readonly body: string }> {
    const { hostname, port, pathname, search } = new URL(address);
    const { request } = process.getBuiltinModule('node:http');
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: '127.0.0.1', port, path: pathname + search, headers: { host: `${hostname}:${port}` }, agent: false },
        (response) => {
          let body = '';
          response.on('data', (chunk: Buffer) => (body += chunk.toString()));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
          response.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end();
    });
  }

  /** Returns the containers of this Davit on the engine, running or not, without the holders of addresses. */
  async containers(applicationId?: string): Promise<ListedContainer[]> {
    return (await this.#allContainers(applicationId)).filter(({ Labels }) => Labels['davit.object'] !== 'address');
  }

  async #allContainers(applicationId?: string): Promise<ListedContainer[]> {
    const labels = applicationId === undefined ? ['davit.installation'] : [`davit.service=${applicationId}`];
    const all = await this.docker.listContainers({ all: true, filters: { label: labels } });
    const installation = await this.installation();
    return all.filter((container) => container.Labels['davit.installation'] === installation);
  }

  async networks(): Promise<ListedNetwork[]> {
    const all = await this.docker.listNetworks({ filters: { label: ['davit.installation'] } });
    const installation = await this.installation();
    return all.filter((network) => network.Labels?.['davit.installation'] === installation);
  }

  /** Returns the installation id with which this Davit labels all its objects. */
  async installation(): Promise<string> {
    this.#installation ??= (await this.#labelled()) ?? (await installationOf(this.davit.database.database));
    return this.#installation;
  }

  // Reads the installation id from the label of a container, which works whichever database Davit uses.
  async #labelled(): Promise<string | undefined> {
    const label = [`davit.environment=${this.environmentId}`];
    const [container] = await this.docker.listContainers({ all: true, filters: { label } });
    return container?.Labels['davit.installation'];
  }

  async close(): Promise<void> {
    // Davit stops first, because it would restart containers that are removed.
    await this.davit.kill('SIGTERM');
    for (const container of await this.#allContainers()) {
      await this.docker
        .getContainer(container.Id)
        .remove({ force: true, v: true })
        .catch(() => undefined);
    }
    for (const network of await this.networks())
      await this.docker
        .getNetwork(network.Id)
        .remove()
        .catch(() => undefined);
    await this.davit.remove();
    await this.git.close();
    this.repositories.remove();
    rmSync(this.repositories.path, { recursive: true, force: true });
  }
}
