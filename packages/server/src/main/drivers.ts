import path from 'node:path';
import { abortable } from '@davit/base';
import {
  DriverError,
  createDockerDriver,
  createGateway,
  createGitSource,
  createImageBuilder,
  createImageStore,
  openDockerEngine,
  type ClusterDriver,
  type ImageBuilder,
  type ImageStore,
  type LocalGateway,
} from '@davit/drivers';
import type { DriverSet, EngineLog } from '@davit/engine';
import type { Configuration } from './config.ts';

/** The drivers of this machine's container engine. */
export interface LocalDrivers {
  readonly set: DriverSet;
  /** Lets go of the gateway; its process goes on serving. */
  detach(): void;
}

export interface Connected {
  readonly cluster: ClusterDriver;
  /** See `DockerEngine`. */
  readonly startAgain: ((signal: AbortSignal) => Promise<void>) | null;
  readonly builder: ImageBuilder;
  readonly imageStore: ImageStore;
}

/** Makes the drivers. Nothing is asked yet: Davit starts without a container engine, and finds it when it is there. */
export function localDrivers(config: Configuration, installation: string, log: EngineLog): LocalDrivers {
  const gateway = createGateway({
    stateFolder: path.join(config.stateFolder, 'gateway'),
    port: config.gatewayPort,
    ...(config.gatewayHttpsPort !== null && { httpsPort: config.gatewayHttpsPort }),
    bindAddress: config.gatewayHost,
    log: (line) => log.info({}, `gateway: ${line}`),
  });
  const connect = rememberSuccess(async (signal: AbortSignal): Promise<Connected> => {
    const engine = await openDockerEngine({
      stateFolder: config.stateFolder,
      signal,
      ...(config.dockerHost === null ? {} : { socket: config.dockerHost }),
    });
    log.info({ engine: engine.engine, version: engine.version, address: engine.address }, 'found the container engine');
    return {
      cluster: createDockerDriver({ ...engine, installation }),
      startAgain: engine.startAgain,
      builder: createImageBuilder({ docker: engine.docker, installation }),
      imageStore: createImageStore({ ...engine, installation }),
    };
  });
  return {
    set: {
      cluster: lateCluster(connect),
      builder: lateBuilder(connect),
      imageStore: lateImageStore(connect),
      source: createGitSource({ allowLocalRepositories: config.allowLocalRepositories }),
      gateway,
    },
    detach: () => detach(gateway),
  };
}

function detach(gateway: LocalGateway): void {
  gateway.detach();
}

type Connect = (signal: AbortSignal) => Promise<Connected>;

/**
 * Calls `open` until it succeeds, one call at a time however many wait for it. Each waits under its own signal; the search goes
 * on for the others.
 */
function rememberSuccess<Result>(open: (signal: AbortSignal) => Promise<Result>): (signal: AbortSignal) => Promise<Result> {
  let known: Result | undefined;
  let opening: Promise<Result> | undefined;
  return async (signal) => {
    if (known !== undefined) return known;
    opening ??= open(AbortSignal.timeout(openWithinMilliseconds)).finally(() => (opening = undefined));
    known = await abortable(opening, signal);
    return known;
  };
}

// Starting a Podman service of Davit's own takes some seconds on a cold machine.
const openWithinMilliseconds = 30_000;

// For calls that take no signal.
const forever = new AbortController().signal;

/** A cluster that is looked for when it is needed. */
export function lateCluster(connect: Connect): ClusterDriver {
  const cluster = async (signal: AbortSignal): Promise<ClusterDriver> => (await connect(signal)).cluster;
  return {
    kind: 'docker',
    describe: async (signal) => (await cluster(signal)).describe(signal),
    start: async (workload, context) => (await cluster(context.signal)).start(workload, context),
    awaitReady: async (workload, context) => (await cluster(context.signal)).awaitReady(workload, context),
    observe: async (selector, signal) => (await cluster(signal)).observe(selector, signal),
    retire: async (selector, graceSeconds, context) => (await cluster(context.signal)).retire(selector, graceSeconds, context),
    revive: async (instanceId, context) => (await cluster(context.signal)).revive(instanceId, context),
    removeService: async (environment, service, context) =>
      (await cluster(context.signal)).removeService(environment, service, context),
    removeEnvironment: async (environment, context) => (await cluster(context.signal)).removeEnvironment(environment, context),
    probe: async (workload, instance, which, signal) => (await cluster(forever)).probe(workload, instance, which, signal),
    followLogs: async (instanceId, since, onLine, signal) =>
      (await cluster(signal)).followLogs(instanceId, since, onLine, signal),
    readFile: async (instanceId, file, signal) => (await cluster(signal)).readFile(instanceId, file, signal),
    takeOut: async (instanceId, from, signal) => (await cluster(signal)).takeOut(instanceId, from, signal),
    putInto: async (instanceId, what, signal) => (await cluster(signal)).putInto(instanceId, what, signal),
    watch: async (onEvent, signal) => {
      const connected = await connect(signal);
      try {
        await connected.cluster.watch(onEvent, signal);
      } catch (error) {
        // Nobody else would: the service is Davit's own, and the keeper, which watches all the time, is the first to see it gone.
        const isGone = error instanceof DriverError && error.code === 'ENGINE_UNREACHABLE';
        if (isGone && connected.startAgain !== null && !signal.aborted) await connected.startAgain(signal);
        throw error;
      }
    },
    metrics: {
      usage: async (signal) => (await cluster(signal)).metrics?.usage(signal) ?? [],
      volumes: async (signal) => (await cluster(signal)).metrics?.volumes(signal) ?? [],
    },
  };
}

function lateBuilder(connect: Connect): ImageBuilder {
  const builder = async (signal: AbortSignal): Promise<ImageBuilder> => (await connect(signal)).builder;
  return {
    declaredArguments: async (source) => (await builder(forever)).declaredArguments(source),
    find: async (image, signal) => (await builder(signal)).find(image, signal),
    build: async (request, context) => (await builder(context.signal)).build(request, context),
    pull: async (request, context) => (await builder(context.signal)).pull(request, context),
    removeImages: async (ids, context) => (await builder(context.signal)).removeImages(ids, context),
  };
}

function lateImageStore(connect: Connect): ImageStore {
  const images = async (signal: AbortSignal): Promise<ImageStore> => (await connect(signal)).imageStore;
  return {
    list: async (signal) => (await images(signal)).list(signal),
    space: async (signal) => (await images(signal)).space(signal),
    release: async (image, context) => (await images(context.signal)).release(image, context),
  };
}
