import { pause } from '@davit/base';
import { migrate, openDatabase, type Database, type SessionLock } from '@davit/db';
import { Helm, Terraform } from '@davit/drivers';
import { createEngine, type Engine, type EngineLog } from '@davit/engine';
import type { Logger } from 'pino';
import { Background } from '../background/background.ts';
import { createApi, listenFailure, type Api } from './api.ts';
import { programVersion } from './version.ts';
import type { Configuration } from '../configuration.ts';
import { localDriver } from '../local-driver.ts';
import { listenForHealth } from './health.ts';
import { giveBackMemory } from './idle-memory.ts';
import { localDrivers, type LocalDrivers } from './drivers.ts';
import { createLog } from './log.ts';
import type { LogOutput } from './log-output.ts';
import { makeFirstRunToken } from '../resources/account/index.ts';
import { pageLink } from '../resources/shared/page-link.ts';
import { StateDisk } from './state-disk.ts';
import type { Writing } from '../http/writing.ts';
import { keepAdminToken, lockStateFolder, openState, type OpenState } from './state.ts';

/** Prints a line for people; the log has its own output. */
export type Say = (line: string) => void;

/** A running server. */
export interface Serving {
  /** Address of the API; null: this process serves none (role worker). */
  readonly address: string | null;
  /** Address of `/healthz`, `/readyz` and `/metrics`: the API's address, or a separate one. */
  readonly health: string;
  /** Resolves when this process must stop serving: another process has taken its state folder. */
  readonly displaced: Promise<void>;
  /**
   * Ends requests, releases deployments (the next start resumes them), and closes all parts. Containers and gateway
   * keep running.
   */
  close(): Promise<void>;
}

/** Creates the drivers of an installation. */
export type DriversMaker = (config: Configuration, installation: string, log: EngineLog) => LocalDrivers;

/**
 * Starts all of Davit in this process. If a part fails to start, the parts before it are closed again.
 *
 * @param drivers Creates the drivers; default: those of this machine's container engine. Tests may replace it.
 */
export async function serve(config: Configuration, say: Say, drivers: DriversMaker = localDrivers): Promise<Serving> {
  const { logger, output } = createLog(config);
  if (config.unknownVariables.length > 0) {
    logger.warn({ variables: config.unknownVariables }, 'unknown variables that begin with DAVIT_');
  }
  const open: Parts = { closers: [] };
  try {
    return await startAll(config, { logger, output, say, open, makeDrivers: drivers });
  } catch (error) {
    await closeAll(open, logger);
    throw error;
  }
}

interface Parts {
  /** In the order of the start; called in reverse. */
  readonly closers: (() => Promise<void> | void)[];
}

async function closeAll(open: Parts, logger: Logger): Promise<void> {
  for (const close of open.closers.toReversed()) {
    try {
      await close();
    } catch (error) {
      // The other parts must be closed all the same.
      logger.error({ err: error }, 'a part could not be closed');
    }
  }
}

interface Start {
  readonly logger: Logger;
  readonly output: LogOutput;
  readonly say: Say;
  readonly open: Parts;
  readonly makeDrivers: DriversMaker;
}

async function startAll(config: Configuration, { logger, output, say, open, makeDrivers }: Start): Promise<Serving> {
  const state = await openState(config, say);
  open.closers.push(() => state.close());
  const holder = new LockHolder(config, state, await lockStateFolder(config, state.connectionString), logger);
  open.closers.push(() => holder.release());
  await migrate({
    connectionString: state.connectionString,
    onApplied: ({ name }) => logger.info({ migration: name }, 'applied a migration'),
    onWaiting: (wait) => logger.warn(wait, 'a migration waits for a lock'),
  });
  const database = openPool(config, state, logger);
  open.closers.push(() => database.close());
  const disk = new StateDisk({ folder: config.stateFolder, minFreeMiB: config.minFreeDiskMiB, log: logger });
  await disk.start();
  open.closers.push(() => disk.stop());
  const writing = async (): Promise<Writing> => ({ disk: await disk.look(), log: output });
  const { api, drivers } = await startApi(config, { state, database, logger, makeDrivers, writing });
  open.closers.push(() => drivers.detach());
  // An engine that was not started is stopped too: it has connections to clusters whose identity was read.
  open.closers.push(() => api.engine.stop());
  if (config.role !== 'api') {
    const version = await programVersion();
    const background = new Background({ deps: api.deps, connectionString: state.connectionString, version, log: logger });
    await background.start();
    open.closers.push(() => background.stop());
  }
  open.closers.push(() => api.close());
  await showToken(config, api, say);
  const address = config.role === 'worker' ? null : await api.listen();
  if (address !== null) await showFirstRun(config, api, { say, address });
  const health = address ?? (await startHealth(config, api, open));
  // The engine starts after the server listens: deployments resume within moments, but the first response does not wait
  // for a container engine.
  if (config.role === 'api') giveBackMemory((error) => logger.warn({ err: error }, 'memory could not be given back'));
  else void startEngine(api, logger);
  logger.info({ address: health, role: config.role }, 'ready');
  open.closers.push(() => leave(config, api));
  return { address, health, displaced: holder.displaced, close: () => closeAll(open, logger) };
}

/**
 * Continues to respond for a while: proxies learn with a delay that this process must get no more requests, and until
 * then their requests would fail.
 */
async function leave({ role, stopDelaySeconds }: Configuration, api: Api): Promise<void> {
  api.leave();
  if (role !== 'worker') await pause(stopDelaySeconds * 1000);
}

/** Starts the health server of a process with the role worker, for monitoring. */
async function startHealth(config: Configuration, api: Api, open: Parts): Promise<string> {
  await api.server.ready();
  const health = await listenForHealth(api.server, config).catch((error: unknown) => {
    throw listenFailure(config, error);
  });
  open.closers.push(() => health.close());
  return health.address;
}

function openPool(config: Configuration, state: OpenState, logger: Logger): Database {
  return openDatabase({
    connectionString: state.connectionString,
    applicationName: 'davit',
    maximumConnections: config.databaseConnections,
    ...(config.databaseUrl === null && { folder: config.stateFolder }),
    onIdleFailure: (error) => logger.warn({ err: error }, 'a database connection was lost'),
  });
}

interface ApiStart extends Pick<Start, 'logger' | 'makeDrivers'> {
  readonly writing: () => Promise<Writing>;
  readonly state: OpenState;
  readonly database: Database;
}

async function startApi(
  config: Configuration,
  { state, database, logger, makeDrivers, writing }: ApiStart,
): Promise<{ api: Api<Engine>; drivers: LocalDrivers }> {
  let drivers: LocalDrivers | undefined;
  const api = await createApi({
    config,
    connectionString: state.connectionString,
    database,
    logger,
    writing,
    engine: (parts) => {
      drivers = makeDrivers(config, parts.settings.installation, parts.log);
      const { set, makeCluster } = drivers;
      return createEngine({
        ...parts,
        drivers: { [localDriver]: set },
        ...(makeCluster !== undefined && { makeCluster }),
        terraform: terraformPrograms(config),
        helm: new Helm(config.helmProgram ?? 'helm'),
      });
    },
  });
  if (drivers === undefined) throw new Error('the API was made without an engine');
  return { api, drivers };
}

function terraformPrograms({ terraformProgram, tofuProgram }: Configuration): Terraform {
  return new Terraform({ TERRAFORM: terraformProgram, OPEN_TOFU: tofuProgram });
}

async function startEngine(api: Api<Engine>, logger: Logger): Promise<void> {
  try {
    await api.engine.start();
    api.works();
    logger.info({}, 'the engine works');
    giveBackMemory((error) => logger.warn({ err: error }, 'memory could not be given back'));
  } catch (error) {
    logger.fatal({ err: error }, 'the engine could not be started; deployments wait until the next start');
  }
}

async function showToken(config: Configuration, api: Api<Engine>, say: Say): Promise<void> {
  if (api.madeToken === null) return;
  const file = await keepAdminToken(config, api.madeToken);
  if (config.bootstrapToken === null) say(`token of the administrator, shown only now: ${api.madeToken}`);
  say(`it is also in ${file}`);
}

/** Prints the link of the first account at each start until the link is used. It is in no log. */
async function showFirstRun(
  config: Configuration,
  api: Api<Engine>,
  { say, address }: { readonly say: Say; readonly address: string },
): Promise<void> {
  const token = await makeFirstRunToken(api.deps);
  if (token === null) return;
  // The port may have been chosen by the operating system.
  const settings = { ...config, publicUrl: config.publicUrl ?? address };
  say(`create the first account, with this link (valid for 24 hours): ${pageLink(settings, 'first-run', token)}`);
}

const retryMilliseconds = 500;
// A remote database server takes some time to notice that the client of the former session is gone. Until then, that
// session holds the lock.
const formerSessionMilliseconds = 45_000;

/**
 * Holds the lock of the state folder, and with it the embedded database. If the connection is lost (the database
 * restarts), the lock is acquired again.
 */
class LockHolder {
  readonly displaced: Promise<void>;
  readonly #disown: () => void;
  #lock: SessionLock;
  #isReleased = false;

  constructor(config: Configuration, state: OpenState, lock: SessionLock, logger: Logger) {
    this.#lock = lock;
    this.#disown = state.own((message) => logger.warn({}, message));
    this.displaced = this.#watch(config, state, logger);
  }

  async #watch(config: Configuration, state: OpenState, logger: Logger): Promise<void> {
    for (;;) {
      await this.#lock.lost;
      if (this.#isReleased) return new Promise(() => undefined);
      logger.warn({}, 'lost the lock of the state folder; taking it again');
      const again = await this.#retake(config, state);
      if (again === null) return this.#isReleased ? new Promise(() => undefined) : this.#disown();
      this.#lock = again;
    }
  }

  async #retake(config: Configuration, state: OpenState): Promise<SessionLock | null> {
    const patience = config.databaseUrl === null ? 0 : formerSessionMilliseconds;
    let refusedSince: number | null = null;
    while (!this.#isReleased) {
      try {
        return await lockStateFolder(config, state.connectionString);
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'STATE_FOLDER_IN_USE') {
          refusedSince ??= performance.now();
          if (performance.now() - refusedSince >= patience) return null;
        }
        // Any other error means that the database is still unreachable.
        await new Promise((resolve) => setTimeout(resolve, retryMilliseconds));
      }
    }
    return null;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    await this.#lock.release();
  }
}
