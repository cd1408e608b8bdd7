import { AppError, systemClock } from '@davit/base';
import { operationList } from '@davit/contract';
import { accessChannel, listen, statement, type Database, type Listener } from '@davit/db';
import { dockerfileFacts } from '@davit/drivers';
import type { EngineLog, EngineSettings } from '@davit/engine';
import type { EngineCounts, EngineHooks, EnginePort } from '@davit/engine/port';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import path from 'node:path';
import { Authenticator } from '../auth/authenticator.ts';
import { IssuerClients } from '../auth/issuer-clients.ts';
import { Issuers } from '../auth/issuers.ts';
import { Passwords } from '../auth/passwords.ts';
import { Sessions } from '../auth/sessions.ts';
import { SignInStates } from '../auth/sign-in-states.ts';
import { readDatabaseCatalogue } from '../catalogue/databases.ts';
import { readLifecycleTemplates } from '../catalogue/lifecycle-templates.ts';
import { readCatalogue } from '../catalogue/read.ts';
import { GitRemote } from '../git-remote/git-remote.ts';
import { gitRepositories } from '../git-remote/repositories.ts';
import { RateLimitSharing } from '../http/rate-limit-sharing.ts';
import { RateLimiter } from '../http/rate-limit.ts';
import type { ServerOptions } from '../http/context.ts';
import { createServer } from '../http/server.ts';
import type { Writing } from '../http/writing.ts';
import { trustedProxies } from '../gateway-api.ts';
import { ensureAuthority } from '../resources/certificate/index.ts';
import { noteServiceAccounts } from '../resources/cluster/index.ts';
import { PlatformCounts } from '../metrics/counts.ts';
import { PlatformMetrics } from '../metrics/platform.ts';
import { engineHooks } from '../resources/hooks.ts';
import { GitInbox } from '../resources/git-event/index.ts';
import { mountAll, type ResourceDeps } from '../resources/index.ts';
import { Streams } from '../resources/stream/index.ts';
import { ensureAdminToken } from '../resources/token/index.ts';
import { openVault, readKeys } from '../secrets/keys.ts';
import type { Configuration } from '../configuration.ts';
import { readVocabulary } from '../vocabulary/read.ts';
import type { Vocabulary } from '../vocabulary/vocabulary.ts';
import { programVersion } from './version.ts';

/** The dependencies of an engine, except its drivers. */
export interface ApiParts {
  readonly database: Database;
  readonly connectionString: string;
  readonly hooks: EngineHooks;
  readonly settings: EngineSettings;
  readonly counts: EngineCounts;
  readonly log: EngineLog;
}

/** The part of an engine that the API needs: its port. The creator of the engine starts and stops it. */
export interface MadeEngine {
  readonly port: EnginePort;
}

export interface ApiInput<Made extends MadeEngine = MadeEngine> {
  readonly config: Configuration;
  /** Connection string of a database with this program's schema. */
  readonly connectionString: string;
  readonly database: Database;
  readonly engine: (parts: ApiParts) => Made;
  readonly logger?: FastifyBaseLogger;
  /** Returns whether this process can write its state and its log. Left out: not checked. */
  readonly writing?: () => Promise<Writing>;
  /** See `ServerOptions`. */
  readonly overloadedAfterMilliseconds?: number;
}

/** The API on top of a database and an engine. */
export interface Api<Made extends MadeEngine = MadeEngine> {
  readonly deps: ResourceDeps;
  readonly engine: Made;
  readonly server: FastifyInstance;
  /** The administrator's token if this start created it; it cannot be shown later. */
  readonly madeToken: string | null;
  /** Starts to listen; returns the address. */
  listen(): Promise<string>;
  /** Reports that the engine works. Until then, `/readyz` of a process with the role worker responds with 503. */
  works(): void;
  /**
   * Reports that requests should go to other processes: `/readyz` responds with 503, and each connection is closed
   * after its next response.
   */
  leave(): void;
  /**
   * Lets running requests finish within the configured time, then closes their connections. Database and engine stay
   * open.
   */
  close(): Promise<void>;
}

const installationRead = statement<{ id: string }>('installation_read', 'select id from installation');

/**
 * Listens for changes by other processes and the command line: revoked tokens and changed memberships.
 */
function follow(connectionString: string, authenticator: Authenticator, streams: Streams): Promise<Listener> {
  const onAccess = (): void => {
    authenticator.forget();
    streams.accessChanged();
  };
  return listen({
    connectionString,
    channels: [accessChannel],
    onNotification: onAccess,
    onReconnect: onAccess,
  });
}

async function noteOwnClusters({ database, config, logger }: ApiInput): Promise<void> {
  for (const cluster of await noteServiceAccounts(database, config.clusterSettings)) {
    const isOwn = config.clusterSettings[cluster]?.in_cluster === true;
    logger?.info({ cluster, in_cluster: isOwn }, 'the setting in_cluster of a cluster has changed');
  }
}

/**
 * Assembles vault, engine, resources and HTTP server. Throws SECRET_KEY_WRONG if the key does not belong to the
 * database, and CATALOGUE_INVALID if the file of cloud vendors, of databases or of lifecycle templates is wrong.
 */
export async function createApi<Made extends MadeEngine>(input: ApiInput<Made>): Promise<Api<Made>> {
  const { config, database, connectionString, logger } = input;
  const catalogue = await readCatalogue(config.catalogueFile);
  const databases = await readDatabaseCatalogue(config.databaseCatalogueFile);
  const lifecycleTemplates = await readLifecycleTemplates(config.lifecycleTemplatesFile);
  const vocabulary = config.vocabulary === null ? null : await readVocabulary(config.vocabulary, operationList);
  const vault = await openVault(database, await readKeys(config.stateFolder, config.secretKey));
  const { id: installation } = await database.one(installationRead);
  await ensureAuthority(config, database, vault, installation);
  await noteOwnClusters(input);
  const counts = new PlatformCounts();
  const settings = engineSettings(config, installation, vocabulary);
  const engine = input.engine({
    database,
    connectionString,
    hooks: engineHooks(database, vault, config),
    settings,
    counts,
    log: logger ?? silent,
  });
  const issuers = new Issuers({ issuers: config.oidcIssuers, audiences: config.oidcAudiences, clock: systemClock });
  const sessions = await Sessions.open(database, vault, systemClock);
  const authenticator = new Authenticator({ database, issuers, sessions });
  const streams = new Streams({ database, engine: engine.port, config, log: logger ?? silent });
  const deps: ResourceDeps = {
    database,
    engine: engine.port,
    vault,
    config,
    vocabulary,
    catalogue,
    databases,
    lifecycleTemplates,
    readDockerfile: dockerfileFacts,
    tokens: authenticator,
    sessions,
    passwords: new Passwords(),
    signInStates: new SignInStates(database, vault, systemClock),
    issuerClients: new IssuerClients(config.oidcClients, issuers),
    streams,
    counts,
  };
  const madeToken = await ensureAdminToken(database, config.bootstrapToken?.reveal() ?? null);
  const state = { isLeaving: false, isStarting: config.role === 'worker' };
  const limiter = new RateLimiter(config.rateLimit);
  const sharing = new RateLimitSharing({ limiter, database, log: logger ?? silent });
  const { backupFolder } = settings;
  const server = await makeServer(input, { deps, authenticator, limiter, state, backupFolder });
  const listener = await follow(connectionString, authenticator, streams);
  return {
    deps,
    engine,
    server,
    madeToken,
    listen: async () => {
      await sharing.start();
      try {
        return await server.listen({ host: config.host, port: config.port });
      } catch (error) {
        throw listenFailure(config, error);
      }
    },
    works: () => void (state.isStarting = false),
    leave: () => void (state.isLeaving = true),
    close: async () => {
      try {
        await closeServer(server, streams, config.stopWithinSeconds);
      } finally {
        await sharing.stop();
        await listener.close();
      }
    },
  };
}

interface ServerParts {
  readonly deps: ResourceDeps;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
  readonly state: { readonly isLeaving: boolean; readonly isStarting: boolean };
  readonly backupFolder: string;
}

async function makeServer(
  input: ApiInput,
  { deps, authenticator, limiter, state, backupFolder }: ServerParts,
): Promise<FastifyInstance> {
  const { config, connectionString, logger } = input;
  const { database, engine, vault, vocabulary } = deps;
  const version = await programVersion();
  return createServer({
    mounted: mountAll(deps),
    database,
    connectionString,
    engine,
    vault,
    authenticator,
    gitInbox: new GitInbox({ database, vault }),
    gitRemote: new GitRemote({ database, engine, repositories: gitRepositories(config) }),
    limiter,
    metrics: new PlatformMetrics({ ...deps, ...config, backupFolder, version, log: logger ?? silent }),
    bodyLimitBytes: config.bodyLimitBytes,
    trustProxy: trustedProxies(config),
    publicUrl: config.publicUrl,
    allowedOrigins: config.allowedOrigins,
    ...(vocabulary !== null && { vocabulary }),
    logRequests: config.logRequests,
    version,
    isLeaving: () => state.isLeaving,
    isStarting: () => state.isStarting,
    ...givenOf(input),
  });
}

/** Returns the optional settings of the server that are present. */
function givenOf({ logger, writing, overloadedAfterMilliseconds }: ApiInput): Partial<ServerOptions> {
  return {
    ...(logger !== undefined && { logger }),
    ...(writing !== undefined && { writing }),
    ...(overloadedAfterMilliseconds !== undefined && { overloadedAfterMilliseconds }),
  };
}

async function closeServer(server: FastifyInstance, streams: Streams, withinSeconds: number): Promise<void> {
  const impatience = setTimeout(() => server.server.closeAllConnections(), withinSeconds * 1000);
  try {
    await streams.close();
    await server.close();
  } finally {
    clearTimeout(impatience);
  }
}

const listenFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there. Stop it, or set DAVIT_PORT to a free port',
  EACCES: 'this user is not permitted to listen there. Set DAVIT_PORT to a port from 1024 on',
  EADDRNOTAVAIL: 'no network interface of this machine has that address. Set DAVIT_HOST to one that has, or to 0.0.0.0',
  ENOTFOUND: 'there is no such host. Set DAVIT_HOST to an address of this machine',
};

/** Returns an error that explains why the server cannot listen, and what to do about it. */
export function listenFailure(config: Configuration, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const words = listenFailures[code];
  if (words === undefined) return error;
  return new AppError({
    code: 'ADDRESS_NOT_AVAILABLE',
    message: `davit cannot listen on ${config.host}:${config.port}: ${words}.`,
    cause: error,
  });
}

/** Returns the settings of an engine for this configuration and installation. */
export function engineSettings(
  config: Configuration,
  installation: string,
  vocabulary: Vocabulary | null = null,
): EngineSettings {
  return {
    ...(vocabulary !== null && { clientTexts: vocabulary.texts }),
    workFolder: path.join(config.stateFolder, 'work'),
    installation,
    builtInPrefix: `${config.variablePrefix}_`,
    buildCpuMillicores: config.buildCpuMillicores,
    buildMemoryMiB: config.buildMemoryMiB,
    maximumBuilds: config.maximumBuilds,
    maximumDeployments: config.maximumDeployments,
    readyTimeoutSeconds: config.readyTimeoutSeconds,
    terminationGraceSeconds: config.terminationGraceSeconds,
    drainSeconds: config.drainSeconds,
    clusterWaitSeconds: config.clusterWaitSeconds,
    keptReleases: config.keptReleases,
    minFreeMiB: config.minFreeDiskMiB,
    buildCacheMiB: config.buildCacheMiB,
    steadySeconds: config.steadySeconds,
    instanceDiskMiB: config.instanceDiskMiB,
    volumeLimitPercent: config.volumeLimitPercent,
    logRetentionDays: config.logRetentionDays,
    logMiBPerService: config.logMiBPerService,
    logLinesPerSecond: config.logLinesPerSecond,
    metricsSeconds: config.metricsSeconds,
    scaleDownSeconds: config.scaleDownSeconds,
    backupFolder: path.resolve(config.backupFolder ?? path.join(config.stateFolder, 'backups')),
    backupsAtOnce: config.backupsAtOnce,
    backupTimeoutSeconds: config.backupTimeoutSeconds,
    keptBackups: config.keptBackups,
  };
}

const silent: EngineLog = { info: () => undefined, warn: () => undefined, error: () => undefined };
