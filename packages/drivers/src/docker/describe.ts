import type Dockerode from 'dockerode';
import type { ClusterDescription } from '../driver.ts';
import { call } from './engine-api.ts';

/** Longer no engine takes to say who it is. */
const answerMilliseconds = 5000;

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
  /** Podman only. */
  readonly Rootless?: boolean;
}

export async function askVersion(docker: Dockerode, signal: AbortSignal): Promise<VersionAnswer> {
  const request = { method: 'GET', path: '/version', signal, timeoutMilliseconds: answerMilliseconds } as const;
  return (await call<VersionAnswer>(docker, request)).body;
}

export async function askInfo(docker: Dockerode, signal: AbortSignal): Promise<InfoAnswer> {
  const request = { method: 'GET', path: '/info', signal, timeoutMilliseconds: answerMilliseconds } as const;
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

// Podman asks the package manager for its versions at each /info: two seconds of CPU on Debian. What is wanted of it hardly
// ever changes; whether the engine is there, /version tells.
const knowMilliseconds = 600_000;
const known = new WeakMap<Dockerode, KnownInfo>();

async function knownInfo(docker: Dockerode, version: string, signal: AbortSignal): Promise<InfoAnswer> {
  const former = known.get(docker);
  if (former !== undefined && former.version === version && Date.now() < former.until) return former.info;
  const info = await askInfo(docker, signal);
  known.set(docker, { version, info, until: Date.now() + knowMilliseconds });
  return info;
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
