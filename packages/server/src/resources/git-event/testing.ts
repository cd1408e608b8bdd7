import { createHmac, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@davit/client';
import { createFakeCluster, createGitSource, type FakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
// Helpers of the driver's own tests: a repository that the real git creates.
import { TestRepository } from '../../../../drivers/src/source/testing.ts';
import { GitWorker } from './work.ts';

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

type Headers = Readonly<Record<string, string>>;
export interface Address {
  readonly url: string;
  readonly secret: string;
}

/** A server with an organization, a cluster in memory and the real git. Repositories are folders of this machine. */
export class GitFixture {
  readonly server: TestServer;
  readonly owner: TestOrganization;
  readonly api: Client;
  readonly fake: FakeCluster;
  readonly folder: string;
  readonly projectId: string;
  readonly worker: GitWorker;
  readonly #engine: Engine;

  private constructor(made: Pick<GitFixture, 'server' | 'owner' | 'api' | 'fake' | 'folder' | 'projectId'>, engine: Engine) {
    ({ server: this.server, owner: this.owner, api: this.api, fake: this.fake } = made);
    ({ folder: this.folder, projectId: this.projectId } = made);
    this.#engine = engine;
    this.worker = this.newWorker();
  }

  static async open(environment: Headers = {}): Promise<GitFixture> {
    const fake = createFakeCluster();
    const source = createGitSource({ allowLocalRepositories: true });
    let engine: Engine | undefined;
    const server = await startTestServer({
      engine: (parts) => {
        const { cluster, builder, carrier, gateway } = fake;
        return (engine = createEngine({ ...parts, drivers: { docker: { cluster, builder, carrier, gateway, source } } }));
      },
      environment: {
        DAVIT_READY_TIMEOUT_SECONDS: '5',
        DAVIT_DRAIN_SECONDS: '1',
        DAVIT_TERMINATION_GRACE_SECONDS: '1',
        DAVIT_ALLOW_LOCAL_REPOSITORIES: 'true',
        DAVIT_ALLOW_PRIVATE_TARGETS: 'true',
        DAVIT_ALLOW_HTTP_REGISTRIES: 'true',
        ...environment,
      },
    });
    if (engine === undefined) throw new Error('the server was made without an engine');
    await engine.start();
    const owner = await server.organization();
    const api = server.client(owner.tokens.WRITE);
    const { id } = await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } });
    const folder = mkdtempSync(join(tmpdir(), 'davit-git-event-'));
    return new GitFixture({ server, owner, api, fake, folder, projectId: id }, engine);
  }

  async close(): Promise<void> {
    await this.worker.stop();
    await this.#engine.stop();
    await this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /**
   * Creates a worker that acts like another process, as far as the database can see. `database`: its own connection
   * pool. `everyMilliseconds`: see `GitWorker`.
   */
  newWorker(database = this.server.api.deps.database, everyMilliseconds?: number): GitWorker {
    const log = { warn: (details: object, message: string) => console.warn(message, details) };
    return new GitWorker({ ...this.server.api.deps, database }, log, everyMilliseconds);
  }

  repository(name = `r${randomUUID()}`): TestRepository {
    return new TestRepository(join(this.folder, name));
  }

  async environment(name = `e ${randomUUID()}`): Promise<string> {
    const body = { name, mode: 'STAGING' as const };
    return (await this.api.call('createEnvironment', { params: { projectId: this.projectId }, body })).id;
  }

  async application(environmentId: string, repository: TestRepository, body: object = {}): Promise<string> {
    const { git_repository = {}, ...more }: { git_repository?: object } = body;
    const git = { url: repository.folder, branch: 'main', ...git_repository };
    const whole = {
      name: `a ${randomUUID()}`,
      auto_deploy: true,
      auto_preview: false,
      ...more,
      dockerfile_path: 'Dockerfile',
      git_repository: git,
    };
    return (await this.api.call('createApplication', { params: { environmentId }, body: whole })).id;
  }

  async state(applicationId: string): Promise<string> {
    return (await this.api.call('getApplicationStatus', { params: { applicationId } })).state;
  }

  async commitOf(applicationId: string): Promise<string | undefined> {
    const { git_repository } = await this.api.call('getApplication', { params: { applicationId } });
    return git_repository?.deployed_commit_id;
  }

  async deploy(applicationId: string): Promise<void> {
    await this.api.call('deployApplication', { params: { applicationId } });
    await this.eventually(async () => (await this.state(applicationId)) === 'DEPLOYED', 'the deployment');
  }

  /** Returns the id of a deployed application that follows the branch main of the repository. */
  async deployed(repository: TestRepository, body: object = {}): Promise<string> {
    const id = await this.application(await this.environment(), repository, body);
    await this.deploy(id);
    return id;
  }

  webhook(serviceId: string): Promise<Address> {
    return this.api.call('createServiceGitWebhook', { params: { serviceId }, body: {} });
  }

  /** Sends the request of a git host, signed as HOSTA does. */
  async send({ url, secret }: Address, event: string, payload: unknown, headers: Headers = {}): Promise<Answered> {
    const body = JSON.stringify(payload);
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
    const own = { 'x-github-event': event, 'x-github-delivery': randomUUID(), 'x-hub-signature-256': signature };
    return this.post(url, body, { 'content-type': 'application/json', ...own, ...headers });
  }

  async post(address: string, body: string, headers: Headers): Promise<Answered> {
    // The address contains the configured port, which is 0 in tests.
    const url = `${this.server.baseUrl}${new URL(address).pathname}`;
    const response = await fetch(url, { method: 'POST', headers, body });
    return { status: response.status, body: JSON.parse(await response.text()) };
  }

  /** Returns the verdict for the service and the newest event, after that event has been processed. */
  async verdictOf(serviceId: string) {
    const found = await this.newest(serviceId);
    const verdict = found.verdicts.find((one) => one.service_id === serviceId);
    if (verdict === undefined) throw new Error(`nothing is told of the service: ${JSON.stringify(found)}`);
    return verdict;
  }

  async newest(serviceId: string) {
    return this.found(async () => {
      const { results } = await this.api.call('listServiceGitEvents', { params: { serviceId } });
      return results.every(({ status }) => status !== 'WAITING') ? results[0] : undefined;
    }, 'the end of the event');
  }

  async eventually(condition: () => Promise<boolean>, what: string): Promise<void> {
    await this.found(async () => ((await condition()) ? true : undefined), what);
  }

  async found<Thing>(look: () => Promise<Thing | undefined>, what: string): Promise<Thing> {
    const until = Date.now() + 15_000;
    for (;;) {
      this.worker.look();
      const thing = await look();
      if (thing !== undefined) return thing;
      if (Date.now() > until) throw new Error(`waited in vain for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/**
 * Returns a push in the format of HOSTA. The payload does not name the repository, because `owner/name` matches no path
 * of this machine.
 */
export function pushOf(after: string, more: object = {}): object {
  return { ref: 'refs/heads/main', before: '0'.repeat(40), after, forced: false, pusher: { name: 'ada' }, ...more };
}
