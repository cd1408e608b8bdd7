import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient, type Client } from '@davit/client';
import type { Scope } from '@davit/contract';
import { createEngine, type Engine } from '@davit/engine';
import { createApi, readConfiguration, type Api, type ApiParts } from '@davit/server';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** A separate server on a free port, with a separate database. */
export interface TestServer {
  readonly baseUrl: string;
  readonly database: TestDatabase;
  readonly api: Api<Engine>;
  /** The instance administrator's token. */
  readonly adminToken: string;
  /** Returns a typed client for a token. Default: the instance administrator's token. */
  client(token?: string): Client;
  /** Creates an organization with a token of each scope. */
  organization(name?: string): Promise<TestOrganization>;
  close(): Promise<void>;
}

export interface TestOrganization {
  readonly id: string;
  readonly tokens: Readonly<Record<Scope, string>>;
}

export interface TestServerOptions {
  /** Creates the engine. Default: an engine that runs nothing, so that deployments stay in the queue. */
  readonly engine?: (parts: ApiParts) => Engine;
  /**
   * Another server of the same installation. The new server shares its database and state folder, and does not remove
   * them.
   */
  readonly beside?: TestServer;
  /** Configuration variables that differ from the defaults. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a server. `close` stops it and removes its database. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { beside } = options;
  const database = beside?.database ?? (await createTestDatabase());
  const stateFolder = beside?.api.deps.config.stateFolder ?? (await mkdtemp(path.join(tmpdir(), 'davit-server-')));
  const adminToken = beside?.adminToken ?? `dvt_test_${randomUUID().replaceAll('-', '')}`;
  const config = readConfiguration({
    DAVIT_HOME: stateFolder,
    DAVIT_PORT: '0',
    DAVIT_RATE_LIMIT: '0',
    DAVIT_BOOTSTRAP_TOKEN: adminToken,
    DAVIT_LOG_LEVEL: 'fatal',
    ...options.environment,
  });
  const api = await createApi({
    config,
    connectionString: database.connectionString,
    database: database.database,
    engine: options.engine ?? idleEngine,
    // Tests share the machine with other tests. Their load is not one that a server should protect itself from.
    overloadedAfterMilliseconds: 0,
  });
  const baseUrl = await api.listen();
  const client = (token = adminToken): Client => createClient({ baseUrl, token });
  return {
    baseUrl,
    database,
    api,
    adminToken,
    client,
    organization: (name) => makeOrganization(client(), name ?? `organization ${randomUUID()}`),
    close: async () => {
      await api.close();
      if (beside !== undefined) return;
      await database.drop();
      await rm(stateFolder, { recursive: true, force: true });
    },
  };
}

function idleEngine(parts: ApiParts): Engine {
  return createEngine({ ...parts, drivers: {} });
}

/** Creates an organization with a token of each scope. */
export async function makeOrganization(admin: Client, name: string): Promise<TestOrganization> {
  const { id } = await admin.call('createOrganization', { body: { name } });
  const make = async (scope: Scope): Promise<string> => {
    const body = { name: `token ${scope}`, scope };
    return (await admin.call('createOrganizationApiToken', { params: { organizationId: id }, body })).token;
  };
  return {
    id,
    tokens: { READ: await make('READ'), DEPLOY: await make('DEPLOY'), WRITE: await make('WRITE'), ADMIN: await make('ADMIN') },
  };
}
