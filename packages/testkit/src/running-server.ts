import type { Client } from '@davit/client';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestOrganization, type TestServer } from './server.ts';

/** A server with a running engine, on a cluster in memory. */
export interface RunningServer extends TestServer {
  readonly fake: FakeCluster;
}

/** Short timeouts: no operation in memory takes as long as on a real cluster. */
const quick = { DAVIT_READY_TIMEOUT_SECONDS: '5', DAVIT_DRAIN_SECONDS: '1', DAVIT_TERMINATION_GRACE_SECONDS: '1' };

/**
 * Starts the server and its engine; `close` stops both. `environment`: configuration variables that differ from the
 * defaults and from the short timeouts.
 */
export async function startRunningServer(environment: Readonly<Record<string, string>> = {}): Promise<RunningServer> {
  const fake = createFakeCluster();
  let engine: Engine | undefined;
  const server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: fake } })),
    environment: { ...quick, ...environment },
  });
  if (engine === undefined) throw new Error('the server made no engine');
  const running = engine;
  await running.start();
  const close = async (): Promise<void> => {
    await running.stop();
    await server.close();
  };
  return { ...server, fake, close };
}

/** An environment in a project of a separate organization. */
export interface TestEnvironment {
  readonly organization: TestOrganization;
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  /** Client with the permissions of the scope WRITE. */
  readonly api: Client;
}

export async function makeTestEnvironment(server: TestServer): Promise<TestEnvironment> {
  const organization = await server.organization();
  const organizationId = organization.id;
  const api = server.client(organization.tokens.WRITE);
  const { id: projectId } = await api.call('createProject', { params: { organizationId }, body: { name: 'shop' } });
  const { id: environmentId } = await api.call('createEnvironment', { params: { projectId }, body: { name: 'live' } });
  return { organization, organizationId, projectId, environmentId, api };
}
