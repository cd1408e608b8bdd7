import { abortable } from '@davit/base';
import type { EngineConnection } from './connection.ts';
import type { ClusterDescription } from '../driver.ts';
import { call } from './engine-api.ts';

/** Timeout in milliseconds of `/version`. No engine takes longer to respond. */
const answerMilliseconds = 5000;
/**
 * Timeout in milliseconds of `/info`. For each `/info`, Podman queries the package manager for versions: that takes two
 * seconds of processor time on Debian, and far more on a busy machine.
 */
const infoMilliseconds = 25_000;

export interface VersionAnswer {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly MinAPIVersion?: string;
  readonly Components?: readonly { readonly Name: string }[] | null;
}

export interface InfoAnswer {
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly KernelVersion: string;
  readonly OperatingSystem: string;
  readonly SecurityOptions: readonly string[] | null;
  /** Name of the storage driver. */
  readonly Driver?: string;
  /** Whether Podman runs without root. Set by Podman only. */
  readonly Rootless?: boolean;
}

export async function askVersion(docker: EngineConnection, signal: AbortSignal): Promise<VersionAnswer> {
  const request = { method: 'GET', path: '/version', signal, timeoutMilliseconds: answerMilliseconds } as const;
  return (await call<VersionAnswer>(docker, request)).body;
}

export async function askInfo(docker: EngineConnection, signal: AbortSignal): Promise<InfoAnswer> {
  const request = { method: 'GET', path: '/info', signal, timeoutMilliseconds: infoMilliseconds } as const;
  return (await call<InfoAnswer>(docker, request)).body;
}

/** Returns the kind of the engine that responded, regardless of the name of its socket. */
export function engineOf(version: VersionAnswer): 'docker' | 'podman' {
  return version.Components?.some(({ Name }) => Name === 'Podman Engine') ? 'podman' : 'docker';
}

interface KnownInfo {
  readonly version: string;
  readonly info: InfoAnswer;
  readonly until: number;
}

// Milliseconds for which a result of /info is cached. The result rarely changes, and /info may be slow; /version shows
// whether the engine is reachable.
const knowMilliseconds = 600_000;
const known = new WeakMap<EngineConnection, KnownInfo>();
const asking = new WeakMap<EngineConnection, Promise<InfoAnswer>>();

/** Caches a result of /info, so that `describeEngine` need not request it. */
export function rememberInfo(docker: EngineConnection, version: string, info: InfoAnswer): void {
  known.set(docker, { version, info, until: Date.now() + knowMilliseconds });
}

/**
 * Returns the last known result of /info, however old: an engine that takes long is slow and not broken. An outdated
 * result is refreshed in the background.
 */
async function knownInfo(docker: EngineConnection, version: string, signal: AbortSignal): Promise<InfoAnswer> {
  const former = known.get(docker);
  if (former === undefined) return abortable(renewedInfo(docker, version), signal);
  if (former.version !== version || Date.now() >= former.until) renewedInfo(docker, version).catch(() => undefined);
  return former.info;
}

/**
 * Requests /info, with only one request in progress at a time. The request continues even if the first caller stops
 * waiting.
 */
function renewedInfo(docker: EngineConnection, version: string): Promise<InfoAnswer> {
  const under = asking.get(docker);
  if (under !== undefined) return under;
  const requested = askInfo(docker, new AbortController().signal)
    .then((info) => {
      rememberInfo(docker, version, info);
      return info;
    })
    .finally(() => asking.delete(docker));
  asking.set(docker, requested);
  return requested;
}

/** See `ClusterDriver.describe`. */
export async function describeEngine(docker: EngineConnection, signal: AbortSignal): Promise<ClusterDescription> {
  const version = await askVersion(docker, signal);
  const info = await knownInfo(docker, version.Version, signal);
  return {
    engine: engineOf(version),
    version: version.Version,
    apiVersion: version.ApiVersion,
    cpuMillicores: info.NCPU * 1000,
    memoryMiB: Math.floor(info.MemTotal / 1024 / 1024),
  };
}
