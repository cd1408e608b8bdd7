import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { DriverError } from '../errors.ts';
import { connectEngine, type EngineConnection } from './connection.ts';
import { askInfo, askVersion, engineOf, rememberInfo, type InfoAnswer, type VersionAnswer } from './describe.ts';
import { ownPodmanPaths, startOwnPodman } from './own-podman.ts';

/**
 * How Davit reaches containers: at their own addresses (`direct`), or through ports published on 127.0.0.1
 * (`published`).
 */
export type Reach = 'direct' | 'published';

export interface DockerEngineInput {
  /**
   * Path of the engine's socket, or a `DOCKER_HOST` (`unix://…`, `tcp://…`). Default: `DOCKER_HOST`, then the usual
   * sockets.
   */
  readonly socket?: string;
  /** Folder for the files of Davit's own Podman service, if one is started. */
  readonly stateFolder: string;
  /** How Davit reaches containers. Default: detected. */
  readonly reach?: Reach;
  /** Whether Davit's own Podman service may be started. Default: yes. A running one is found in either case. */
  readonly startsOwn?: boolean;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

/** A reachable engine. Its properties are spread into `createDockerDriver`. */
export interface DockerEngine {
  /** Client that uses the negotiated API version. */
  readonly docker: EngineConnection;
  readonly engine: 'docker' | 'podman';
  /** Address of the engine, in the form of a `DOCKER_HOST`. */
  readonly address: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly cpuMillicores: number;
  readonly memoryMiB: number;
  readonly isDirect: boolean;
  readonly isLocal: boolean;
  /** Name of the storage driver, as the engine reports it: `overlay2`, `overlay`, `vfs`. */
  readonly storage: string;
  /**
   * Restarts the engine if it is Davit's own Podman service and is unreachable. Null if the engine is the operator's.
   */
  readonly startAgain: ((signal: AbortSignal) => Promise<void>) | null;
}

/** Newest API version that Davit was written against. Current engines will support it for years. */
const newestKnown = '1.47';
/** Oldest API version with all features that Davit uses: Docker Engine 20.10 and Podman 4. */
const oldestKnown = '1.41';

/**
 * Finds the container engine and negotiates the API version. The first reachable engine is used, in this order:
 * - the given socket, or `DOCKER_HOST`; if one is given, it must be reachable
 * - Docker's socket
 * - Podman's socket
 * - if `podman` is installed, Davit's own Podman service, which is started and outlives Davit
 *
 * Fails with ENGINE_UNREACHABLE.
 */
export async function openDockerEngine(input: DockerEngineInput): Promise<DockerEngine> {
  const environment = input.environment ?? process.env;
  const signal = input.signal ?? new AbortController().signal;
  const named = input.socket || environment.DOCKER_HOST;
  if (named) return open(toAddress(named), input, signal);
  const tried: string[] = [];
  for (const path of usualSockets(environment)) {
    if (!existsSync(path)) continue;
    try {
      return await open(`unix://${path}`, input, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof DriverError)) throw error;
      tried.push(`${path}: ${error.message}`);
    }
  }
  const own = input.startsOwn === false ? runningOwn(input.stateFolder) : await startOwnPodman(input.stateFolder, signal);
  if (own !== null) {
    const startAgain = async (again: AbortSignal): Promise<void> => void (await startOwnPodman(input.stateFolder, again));
    return { ...(await open(`unix://${own}`, input, signal)), startAgain };
  }
  throw new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message:
      tried.length === 0
        ? 'No container engine was found: there is no socket of Docker or Podman, and podman is not installed.'
        : `No container engine answers. ${tried.join(' ')}`,
    hint: 'Install Docker or Podman (on Debian and Ubuntu `apt-get install podman`), start it, or set DOCKER_HOST.',
    retryable: true,
  });
}

function runningOwn(stateFolder: string): string | null {
  const { socket } = ownPodmanPaths(stateFolder);
  return existsSync(socket) ? socket : null;
}

/** Returns the default sockets of engines, in the order in which they are tried. */
function usualSockets(environment: Readonly<Record<string, string | undefined>>): string[] {
  const user = environment.XDG_RUNTIME_DIR;
  return [
    '/var/run/docker.sock',
    ...(user ? [`${user}/docker.sock`, `${user}/podman/podman.sock`] : []),
    '/run/podman/podman.sock',
  ];
}

/**
 * Converts a `DOCKER_HOST` or a path to an address. Pure. Fails with ENGINE_UNREACHABLE (not retryable) for other
 * kinds.
 */
export function toAddress(named: string): string {
  const address = named.startsWith('/') ? `unix://${named}` : named.includes('://') ? named : `tcp://${named}`;
  if (/^(unix|tcp|https?):\/\//.test(address)) return address;
  throw new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `Davit cannot reach a container engine at an address such as ${address.replace(/:\/\/.*/s, '://…')}.`,
    hint: 'Set DOCKER_HOST to the path of a socket, unix://… or tcp://…; over SSH, forward the socket with `ssh -L` and use the path of the forwarded one.',
    retryable: false,
  });
}

async function open(address: string, input: DockerEngineInput, signal: AbortSignal): Promise<DockerEngine> {
  const unversioned = connectEngine(address, input.environment ?? process.env);
  const version = await askVersion(unversioned, signal);
  const apiVersion = negotiate(version);
  const docker = { ...unversioned, apiVersion };
  const info = await askInfo(docker, signal);
  rememberInfo(docker, version.Version, info);
  const isLocal = isSameMachine(address, info);
  const isDirect = input.reach === undefined ? isLocal && !isRootless(info) : input.reach === 'direct';
  if (!isDirect && isRemote(address)) throw remote(address);
  return {
    docker,
    engine: engineOf(version),
    address,
    version: version.Version,
    apiVersion,
    cpuMillicores: info.NCPU * 1000,
    memoryMiB: Math.floor(info.MemTotal / 1024 / 1024),
    isDirect,
    isLocal,
    storage: info.Driver ?? '',
    startAgain: null,
  };
}

/**
 * Returns the newest API version that both sides support. Pure. Fails with ENGINE_UNREACHABLE (not retryable) if there
 * is none.
 */
export function negotiate(version: Pick<VersionAnswer, 'ApiVersion' | 'MinAPIVersion' | 'Version'>): string {
  const common = compareVersions(version.ApiVersion, newestKnown) < 0 ? version.ApiVersion : newestKnown;
  const isTooOld = compareVersions(common, oldestKnown) < 0;
  const isTooNew = version.MinAPIVersion ? compareVersions(version.MinAPIVersion, newestKnown) > 0 : false;
  if (!isTooOld && !isTooNew) return common;
  throw new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `The container engine ${version.Version} speaks API version ${version.ApiVersion}; Davit needs ${oldestKnown} to ${newestKnown}.`,
    hint: isTooOld ? 'Update the engine to Docker 20.10, Podman 4, or later.' : 'Update Davit.',
  });
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  return (left[0] ?? 0) - (right[0] ?? 0) || (left[1] ?? 0) - (right[1] ?? 0);
}

// Docker Desktop and Podman machines forward their socket from a virtual machine, which has a different kernel.
function isSameMachine(address: string, info: InfoAnswer): boolean {
  return (
    address.startsWith('unix://') &&
    process.platform === 'linux' &&
    info.KernelVersion === release() &&
    !/docker desktop/i.test(info.OperatingSystem)
  );
}

function isRootless(info: InfoAnswer): boolean {
  return info.Rootless === true || (info.SecurityOptions?.some((option) => option.includes('name=rootless')) ?? false);
}

function isRemote(address: string): boolean {
  return !address.startsWith('unix://') && !/^(127\.|localhost$|\[?::1)/.test(new URL(address).hostname);
}

function remote(address: string): DriverError {
  return new DriverError({
    cause: 'ENGINE_UNREACHABLE',
    message: `The container engine at ${address} is on another machine; Davit's gateway could not reach its containers.`,
    hint: 'Run Davit on the machine of the engine.',
  });
}
