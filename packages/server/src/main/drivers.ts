import path from 'node:path';
import { neverAborted } from '@davit/base';
import { isPrivateAddress, reachable } from '@davit/base-node';
import {
  DriverError,
  createDockerDriver,
  createGateway,
  createGitSource,
  type GitSourceOptions,
  createImageBuilder,
  createImageStore,
  openDockerEngine,
  type ClusterDriver,
  type EngineImages,
  type HttpRoute,
  type ImageStore,
  type LocalGateway,
} from '@davit/drivers';
import type { ClusterMaker, DriverSet, EngineLog } from '@davit/engine';
import { gitFolderOf, type Configuration } from '../configuration.ts';
import { gatewayApi, type GatewayApiSettings } from '../gateway-api.ts';
import { lateCluster, rememberSuccess } from './late-cluster.ts';
import { kubernetesClusters } from './kubernetes-clusters.ts';
import { noEngine } from './no-engine.ts';

/** The drivers of this machine's container engine, and the factory for the drivers of other clusters. */
export interface LocalDrivers {
  readonly set: DriverSet;
  /** Left out: no other clusters are supported. */
  readonly makeCluster?: ClusterMaker;
  /** Detaches from the gateway; its process continues to serve. */
  detach(): void;
}

export interface Connected {
  readonly cluster: ClusterDriver;
  /** See `DockerEngine`. */
  readonly startAgain: ((signal: AbortSignal) => Promise<void>) | null;
  readonly builder: EngineImages;
  readonly imageStore: ImageStore;
}

function gitOptions(config: Configuration): GitSourceOptions {
  const { allowLocalRepositories, privateRepositories, keptSourcesMiB, stateFolder } = config;
  const mayReach = reachable(privateRepositories);
  return {
    allowLocalRepositories,
    ownRepositories: gitFolderOf(config),
    ...(privateRepositories !== true && { mayReach }),
    // On the file system of the work folder, so that objects are linked and not copied.
    ...(keptSourcesMiB > 0 && {
      kept: { folder: path.join(stateFolder, 'sources'), maximumBytes: keptSourcesMiB * 1024 * 1024 },
    }),
    // Git servers without TLS are common in networks that the operator has allowed.
    mayReadPlainly: (address, host) => isPrivateAddress(address) && mayReach(address, host),
  };
}

/**
 * Creates the drivers without contacting the container engine: Davit starts without one, and connects once one is
 * available.
 */
export function localDrivers(config: Configuration, installation: string, log: EngineLog): LocalDrivers {
  const source = createGitSource(gitOptions(config));
  const makeCluster = kubernetesClusters(config, installation);
  if (!config.localEngine) return { set: noEngine(source), makeCluster, detach: () => undefined };
  const gateway = createGateway({
    stateFolder: path.join(config.stateFolder, 'gateway'),
    port: config.gatewayPort,
    ...(config.gatewayHttpsPort !== null && { httpsPort: config.gatewayHttpsPort }),
    bindAddress: config.gatewayHost,
    ownRoutes: ownRoutes(config),
    hstsSeconds: config.hstsSeconds,
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
      cluster: createDockerDriver({
        ...engine,
        installation,
        publicAddress: config.gatewayHost,
        keepsAddresses: config.keepsServiceAddresses,
      }),
      startAgain: engine.startAgain,
      builder: createImageBuilder({ docker: engine.docker, installation }),
      imageStore: createImageStore({ ...engine, installation }),
    };
  });
  const images = lateImages(connect);
  return {
    set: {
      cluster: lateEngine(connect),
      builder: images,
      carrier: images,
      imageStore: lateImageStore(connect),
      source,
      gateway,
    },
    makeCluster,
    detach: () => detach(gateway),
  };
}

/** Returns the route to the API and the console; none if another proxy answers at the public URL. */
export function ownRoutes(config: GatewayApiSettings): HttpRoute[] {
  const api = gatewayApi(config);
  if (api === null) return [];
  const backends = api.addresses.map(({ host, port }, index) => ({ id: `davit-api-${index}`, host, port }));
  return [{ id: 'davit-api', hosts: [api.host], pathPrefix: '/', pathRewrite: null, protocol: 'HTTP', backends }];
}

function detach(gateway: LocalGateway): void {
  gateway.detach();
}

type Connect = (signal: AbortSignal) => Promise<Connected>;

/** Returns this machine's engine as a cluster that connects when it is first needed. */
export function lateEngine(connect: Connect): ClusterDriver {
  return {
    ...lateCluster('docker', async (signal) => (await connect(signal)).cluster),
    watch: async (onEvent, signal) => {
      const connected = await connect(signal);
      try {
        await connected.cluster.watch(onEvent, signal);
      } catch (error) {
        // Nobody else restarts the engine: its Podman service is Davit's own. The keeper watches all the time, so it is
        // the first to notice that the service is gone.
        const isGone = error instanceof DriverError && error.code === 'ENGINE_UNREACHABLE';
        if (isGone && connected.startAgain !== null && !signal.aborted) await connected.startAgain(signal);
        throw error;
      }
    },
  };
}

function lateImages(connect: Connect): EngineImages {
  const builder = async (signal: AbortSignal): Promise<EngineImages> => (await connect(signal)).builder;
  return {
    declaredArguments: async (source) => (await builder(neverAborted)).declaredArguments(source),
    find: async (image, signal) => (await builder(signal)).find(image, signal),
    build: async (request, context) => (await builder(context.signal)).build(request, context),
    pull: async (request, context) => (await builder(context.signal)).pull(request, context),
    push: async (request, context) => (await builder(context.signal)).push(request, context),
    removeImages: async (ids, context) => (await builder(context.signal)).removeImages(ids, context),
  };
}

function lateImageStore(connect: Connect): ImageStore {
  const images = async (signal: AbortSignal): Promise<ImageStore> => (await connect(signal)).imageStore;
  return {
    list: async (signal) => (await images(signal)).list(signal),
    space: async (signal) => (await images(signal)).space(signal),
    cacheBytes: async (signal) => (await images(signal)).cacheBytes(signal),
    pruneCache: async (keepBytes, signal) => (await images(signal)).pruneCache(keepBytes, signal),
    release: async (image, context) => (await images(context.signal)).release(image, context),
  };
}
