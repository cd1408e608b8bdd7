import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inParallel } from '@davit/base';
import type { ClusterMetrics, InstanceUsage, VolumeUsage } from '../driver.ts';
import { call } from './engine-api.ts';
import { label, labelFilter } from './labels.ts';
import { instanceOf, type Labels } from '../shared/labels.ts';
import type { ReadyScope } from './instances.ts';
import { translated } from './refusals.ts';

const run = promisify(execFile);

/**
 * Number of concurrent statistics requests. For a container without a request in the last second, Docker 20.10 responds
 * at once or with its next tick, one second later, regardless of concurrent requests. Higher concurrency therefore
 * costs nothing but waiting. Newer versions, and Podman, take some milliseconds per container.
 */
const atOnce = 50;
const diskUsageTimeoutMilliseconds = 30_000;

/** The optional power "metrics" of a container engine. */
export function engineMetrics(scope: ReadyScope): Pick<ClusterMetrics, 'usage' | 'volumes'> {
  return {
    usage: async (signal) => {
      try {
        return await usage(scope, signal);
      } catch (error) {
        throw translated(error, 'The resource usage of instances could not be read');
      }
    },
    volumes: async (signal) => {
      try {
        return await volumes(scope, signal);
      } catch (error) {
        throw translated(error, 'The disk usage of volumes could not be read');
      }
    },
  };
}

interface Running {
  readonly Id: string;
  readonly Labels: Labels | null;
}

async function usage(scope: ReadyScope, signal: AbortSignal): Promise<InstanceUsage[]> {
  const filters = { label: labelFilter(scope.installation, 'instance', {}), status: ['running'] };
  const query = { filters: JSON.stringify(filters) };
  const running = await call<readonly Running[]>(scope.docker, { method: 'GET', path: '/containers/json', query, signal });
  const ours = running.body.filter(({ Labels }) => Labels?.[label.installation] === scope.installation);
  const found = await inParallel(ours, atOnce, (container) => usageOf(scope, container, signal));
  return found.filter((one) => one !== null);
}

/** The used fields of an engine's statistics response. Podman omits fields that it does not know. */
export interface Statistics {
  readonly read: string;
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly stats?: { readonly inactive_file?: number; readonly total_inactive_file?: number } | null;
  };
  readonly networks?: Readonly<Record<string, { readonly rx_bytes: number; readonly tx_bytes: number }>> | null;
}

async function usageOf(scope: ReadyScope, { Id, Labels }: Running, signal: AbortSignal): Promise<InstanceUsage | null> {
  const path = `/containers/${Id}/stats`;
  // Without `one-shot`, Docker takes a second reading one second later.
  const query = { stream: 'false', 'one-shot': 'true' };
  const answer = await call<Statistics | string>(scope.docker, { method: 'GET', path, query, signal, accept: [404, 409, 500] });
  // Podman responds with 500 for a container that has just exited.
  if (answer.status >= 300 || typeof answer.body !== 'object') return null;
  return toUsage(answer.body, { id: Id, labels: Labels ?? {} });
}

/** Converts statistics to usage. Returns null if the engine has no numbers because the container does not run. Pure. */
export function toUsage(
  statistics: Statistics,
  { id, labels }: { readonly id: string; readonly labels: Labels },
): InstanceUsage | null {
  const at = Date.parse(statistics.read);
  const cpu = statistics.cpu_stats?.cpu_usage?.total_usage;
  const memory = statistics.memory_stats?.usage;
  if (!(at > 0) || cpu === undefined || memory === undefined) return null;
  const { inactive_file: inactive, total_inactive_file: totalInactive } = statistics.memory_stats?.stats ?? {};
  const networks = Object.values(statistics.networks ?? {});
  return {
    id,
    ...instanceOf(labels),
    at,
    cpuMilliseconds: cpu / 1_000_000,
    memoryBytes: Math.max(0, memory - (totalInactive ?? inactive ?? 0)),
    receivedBytes: networks.reduce((sum, network) => sum + network.rx_bytes, 0),
    sentBytes: networks.reduce((sum, network) => sum + network.tx_bytes, 0),
  };
}

interface VolumeSummary {
  readonly Labels: Labels | null;
  readonly Mountpoint: string;
}

// The engine's own measurement (`/system/df`) reads the volumes of everybody on the machine. Here only Davit's volumes
// are measured, one by one.
async function volumes(scope: ReadyScope, signal: AbortSignal): Promise<VolumeUsage[]> {
  if (!scope.isLocal) return [];
  const query = { filters: JSON.stringify({ label: [`${label.installation}=${scope.installation}`] }) };
  const answer = await call<{ readonly Volumes: readonly VolumeSummary[] | null }>(scope.docker, {
    method: 'GET',
    path: '/volumes',
    query,
    signal,
  });
  const bytes = new Map<string, number>();
  for (const { Labels, Mountpoint } of answer.body.Volumes ?? []) {
    const service = Labels?.[label.service];
    if (service === undefined || Labels?.[label.installation] !== scope.installation) continue;
    const held = await folderBytes(Mountpoint, signal);
    if (held !== null) bytes.set(service, (bytes.get(service) ?? 0) + held);
  }
  return [...bytes].map(([service, held]) => ({ service, bytes: held }));
}

/** Returns the number of bytes that the files of a folder occupy on disk, or null if it cannot be determined. */
async function folderBytes(folder: string, signal: AbortSignal): Promise<number | null> {
  try {
    const { stdout } = await run('du', ['-s', '-k', '-x', '--', folder], { signal, timeout: diskUsageTimeoutMilliseconds });
    const kibibytes = Number.parseInt(stdout, 10);
    return Number.isNaN(kibibytes) ? null : kibibytes * 1024;
  } catch {
    signal.throwIfAborted();
    // The folder may not be readable, may be gone, or may be too large to be measured in time.
    return null;
  }
}
