import { abortable } from '@davit/base';
import type Dockerode from 'dockerode';
import type { ClusterDescription } from '../driver.ts';
import { call } from './engine-api.ts';

/** Longer no engine takes to say who it is. */
const answerMilliseconds = 5000;
/** Podman asks the package manager for its versions at each /info: two seconds of processor time on Debian, and far more on a busy machine. */
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
  /** Storage driver. */
  readonly Driver?: string;
  /** Podman only. */
  readonly Rootless?: boolean;
}

export async function askVersion(docker: Dockerode, signal: AbortSignal): Promise<VersionAnswer> {
  const request = { method: 'GET', path: '/version', signal, timeoutMilliseconds: answerMilliseconds } as const;
  return (await call<VersionAnswer>(docker, request)).body;
}

export async function askInfo(docker: Dockerode, signal: AbortSignal): Promise<InfoAnswer> {
  const request = { method: 'GET', path: '/info', signal, timeoutMilliseconds: infoMilliseconds } as const;
  return (await call<InfoAnswer>(docker, request)).body;
}

/** Which engine answers, whatever its socket is called. */
export function engineOf(version: VersionAnswer): 'docker' | 'podman' {
  return version.Components?.some(({ Name }) => Name === 'Podman Engine') ? 'podman' : 'docker';
}

interface KnownInfo {
  readonly version: string;
  readonly info: InfoAnswer;
  readonly until: number;
}

// The facts of /info hardly ever change, and it may be slow; /version shows whether the engine is there.
const knowMilliseconds = 600_000;
const known = new WeakMap<Dockerode, KnownInfo>();
const asking = new WeakMap<Dockerode, Promise<InfoAnswer>>();

/** Keeps an answer of /info, so that `describeEngine` need not ask for it. */
export function rememberInfo(docker: Dockerode, version: string, info: InfoAnswer): void {
  known.set(docker, { version, info, until: Date.now() + knowMilliseconds });
}

/** The last answer, however old: an engine that takes long is slow and not broken. A newer one is asked for beside. */
async function knownInfo(docker: Dockerode, version: string, signal: AbortSignal): Promise<InfoAnswer> {
  const former = known.get(docker);
  if (former === undefined) return abortable(renewedInfo(docker, version), signal);
  if (former.version !== version || Date.now() >= former.until) renewedInfo(docker, version).catch(() => undefined);
  return former.info;
}

/** One question at a time; it goes on when who asked first has no more time. */
function renewedInfo(docker: Dockerode, version: string): Promise<InfoAnswer> {
  const under = asking.get(docker);
  if (under !== undefined) return under;
  const asked = askInfo(docker, new AbortController().signal)
    .then((info) => {
      rememberInfo(docker, version, info);
      return info;
    })
    .finally(() => asking.delete(docker));
  asking.set(docker, asked);
  return asked;
}

/** See `ClusterDriver.describe`. */
export async function describeEngine(docker: Dockerode, signal: AbortSignal): Promise<ClusterDescription> {
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
