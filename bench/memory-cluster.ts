import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database, Queryable, Statement } from '@davit/db';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import type { ReleaseConfig } from '@davit/engine/port';
import { testDatabaseVariable } from '@davit/testkit/global-database';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { Client } from 'pg';
import { config } from '../packages/engine/src/testing/config.ts';
import type { Place } from './place.ts';
import { processesOf, processorSeconds, withDescendants } from './processes.ts';

/** The cost of a piece of work. */
export interface Cost {
  readonly seconds: number;
  /** Processor time of this process: engine, cluster in memory and the little that the benchmark does. */
  readonly nodeSeconds: number;
  /** Processor time of all processes of PostgreSQL. */
  readonly databaseSeconds: number;
  readonly transactions: number;
  /** Executions by name of the statement. */
  readonly statements: Readonly<Record<string, number>>;
}

/**
 * Davit's engine with the records and the PostgreSQL of a server, on a cluster in memory. Everything that a deployment
 * costs here is Davit's own cost.
 */
export class MemoryCluster {
  readonly fake: FakeCluster;
  readonly #location: Place;
  readonly #server: TestServer;
  readonly #make: () => Engine;
  #engine: Engine;
  readonly #sql: Client;
  readonly #statements: Map<string, number>;
  #isStarted = false;

  private constructor(
    location: Place,
    parts: { fake: FakeCluster; server: TestServer; make: () => Engine; sql: Client; statements: Map<string, number> },
  ) {
    this.#location = location;
    this.fake = parts.fake;
    this.#server = parts.server;
    this.#make = parts.make;
    this.#engine = parts.server.api.engine;
    this.#sql = parts.sql;
    this.#statements = parts.statements;
  }

  /** Creates a server with an empty database. Its engine is not started. */
  static async create(location: Place): Promise<MemoryCluster> {
    process.env[testDatabaseVariable] ??= await location.database('memory');
    const fake = createFakeCluster();
    const statements = new Map<string, number>();
    let make: (() => Engine) | undefined;
    const server = await startTestServer({
      engine: (parts) => {
        make = () => createEngine({ ...parts, database: counting(parts.database, statements), drivers: { docker: fake } });
        return make();
      },
    });
    if (make === undefined) throw new Error('the server made no engine');
    const sql = new Client({ connectionString: server.database.connectionString });
    await sql.connect();
    return new MemoryCluster(location, { fake, server, make, sql, statements });
  }

  get port(): number {
    return Number(new URL(this.#server.baseUrl).port);
  }

  /** Creates an organization with so many tokens that may read. */
  async organization(readers: number): Promise<{ readonly id: string; readonly tokens: readonly string[] }> {
    const { id } = await this.#server.organization();
    const tokens: string[] = [];
    for (let index = 0; index < readers; index += 1) {
      const body = { name: `reader ${index}`, scope: 'READ' as const };
      const made = await this.#server.client().call('createOrganizationApiToken', { params: { organizationId: id }, body });
      tokens.push(made.token);
    }
    return { id, tokens };
  }

  async start(): Promise<void> {
    await this.#engine.start();
    this.#isStarted = true;
  }

  /** Stops the engine and makes another one for the next `start`. */
  async stop(): Promise<void> {
    if (this.#isStarted) await this.#engine.stop();
    this.#isStarted = false;
    this.#engine = this.#make();
  }

  /** Queues a deployment of these services in their environment. */
  async queue(environment: Environment): Promise<void> {
    const { database } = this.#server.database;
    await database.transaction((tx) => this.#engine.port.request(tx, { ...environment.request }));
  }

  /** Waits until no deployment is queued or running. */
  async settled(): Promise<void> {
    for (;;) {
      const { rowCount } = await this.#sql.query(`select from deployment where status in ('QUEUED', 'RUNNING') limit 1`);
      if (rowCount === 0) return;
      await pause(20);
    }
  }

  /** Fails unless all deployments have succeeded. */
  async assertSucceeded(): Promise<void> {
    const { rows } = await this.#sql.query(`select id, status from deployment where status <> 'SUCCEEDED' limit 1`);
    if (rows.length > 0) throw new Error(`a deployment has not succeeded: ${JSON.stringify(rows[0])}`);
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    return (await this.#sql.query<Record<string, unknown>>(text)).rows;
  }

  /** Measures what an action costs. */
  async cost(action: () => Promise<unknown>): Promise<Cost> {
    this.#statements.clear();
    const transactions = await this.#transactions();
    const databaseSeconds = this.#databaseSeconds();
    const began = performance.now();
    const cpu = process.cpuUsage();
    await action();
    const { user, system } = process.cpuUsage(cpu);
    return {
      seconds: (performance.now() - began) / 1000,
      nodeSeconds: (user + system) / 1e6,
      databaseSeconds: this.#databaseSeconds() - databaseSeconds,
      transactions: (await this.#transactions()) - transactions,
      statements: Object.fromEntries([...this.#statements].toSorted(([, a], [, b]) => b - a)),
    };
  }

  async #transactions(): Promise<number> {
    // Backends report their counts only from time to time.
    const [row] = await this.query(
      `select xact_commit::float8 as committed from pg_stat_database where datname = current_database()`,
    );
    return Number(row?.['committed']);
  }

  #databaseSeconds(): number {
    const postmaster = processesOf(this.#location.folder).find(({ commandLine }) => commandLine.includes('postgres -D'));
    if (postmaster === undefined) throw new Error('PostgreSQL is not running');
    return withDescendants(postmaster.pid).reduce((sum, { pid }) => {
      try {
        return sum + processorSeconds(pid);
      } catch {
        return sum; // The process exited while it was read.
      }
    }, 0);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#sql.end();
    await this.#server.close();
  }
}

/** Counts the statements of the engine, also those of transactions. */
function counting(database: Database, counts: Map<string, number>): Database {
  const count = ({ name }: Pick<Statement, 'name'>): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const counted = (db: Queryable): Queryable => ({
    many: (requested, values) => (count(requested), db.many(requested, values)),
    one: (requested, values) => (count(requested), db.one(requested, values)),
    maybe: (requested, values) => (count(requested), db.maybe(requested, values)),
    run: (requested, values) => (count(requested), db.run(requested, values)),
    batched: (requested, values) => (count(requested.statement), db.batched(requested, values)),
  });
  return {
    ...counted(database),
    transaction: (action) => {
      count({ name: '(transaction)' });
      return database.transaction((tx) => action(counted(tx)));
    },
    get pool() {
      return database.pool;
    },
    close: () => database.close(),
  };
}

export type Environment = ReturnType<typeof makeEnvironment>;

/** Returns an environment with services that are built and have one public port each. */
export function makeEnvironment(services = 1, organizationId: string = randomUUID()) {
  const environment = {
    organizationId,
    projectId: randomUUID(),
    environmentId: randomUUID(),
    clusterId: randomUUID(),
    driver: 'docker',
  };
  return {
    request: {
      environment,
      action: 'DEPLOY' as const,
      wholeEnvironment: false,
      trigger: { actor: 'bench', triggeredBy: 'bench', origin: 'API' as const },
      services: Array.from({ length: services }, () => {
        const serviceId = randomUUID();
        return {
          serviceId,
          serviceType: 'APPLICATION' as const,
          name: 'shop',
          iconUri: 'app://davit-console/application',
          stage: { id: environment.projectId, name: 'APPLICATION DEFAULT', position: 3 },
          release: { config: releaseConfig(serviceId), commitId: null },
        };
      }),
    },
  };
}

/** Returns the configuration of a small release whose public port has a host of its own. */
function releaseConfig(serviceId: string): ReleaseConfig {
  const [port] = config().ports;
  if (port === undefined) throw new Error('the configuration has no port');
  return config({ ports: [{ ...port, id: serviceId, hosts: [`${serviceId}.localhost`] }], cpuMillicores: 100, memoryMiB: 64 });
}
