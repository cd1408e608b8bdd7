import type { ClusterMetrics, InstanceUsage } from '../../driver.ts';
import { call, type Api, type KubernetesObject, type ListOf } from '../client/api.ts';
import type { Scope } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { idOf } from '../instances/instances.ts';
import { mainContainer } from '../manifests/pod.ts';
import { labelSelector, withRunLabels } from '../names/labels.ts';
import { instanceOf } from '../../shared/labels.ts';
import { toNumber } from '../names/quantity.ts';

const path = '/apis/metrics.k8s.io/v1beta1/pods';

/** A `PodMetrics`: the usage of a pod's containers in the window that ends at `timestamp`. */
export interface PodMetrics extends KubernetesObject {
  readonly timestamp: string;
  readonly containers: readonly {
    readonly name: string;
    readonly usage: { readonly cpu: string; readonly memory: string };
  }[];
}

interface Counter {
  readonly at: number;
  readonly cpuMilliseconds: number;
}

/**
 * The capability "metrics", from metrics.k8s.io.
 * - The API returns rates, while callers expect a counter. The counter is the sum of the rates since this process first
 *   saw the instance.
 * - The API does not report network traffic and volumes: bytes sent and received are 0, and there are no volumes.
 * - A cluster without a metrics server, which may get one at any time, reports no usage.
 * - An unreachable metrics server is a retryable failure.
 */
export function clusterMetrics({ api, installation }: Scope): ClusterMetrics {
  const counters = new Map<string, Counter>();
  return {
    usage: async (signal) => {
      const query = { labelSelector: labelSelector(installation, 'instance', {}) };
      try {
        const usages = (await measuredPods(api, query, signal)).flatMap((metrics) => toUsage(withRunLabels(metrics), counters));
        const ids = new Set(usages.map(({ id }) => id));
        for (const id of counters.keys()) if (!ids.has(id)) counters.delete(id);
        return usages;
      } catch (error) {
        throw translated(error, 'The resource usage of instances could not be read');
      }
    },
    volumes: () => Promise.resolve([]),
    // The kubelet watches disks and processes and evicts pods. An eviction is seen as the end of a pod.
    pressure: () => Promise.resolve([]),
  };
}

async function measuredPods(
  api: Api,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly PodMetrics[]> {
  const request = { method: 'GET', path, query, signal, accept: [404] } as const;
  const { status, body } = await call<ListOf<PodMetrics>>(api, request);
  return status === 404 ? [] : body.items;
}

function toUsage(metrics: PodMetrics, counters: Map<string, Counter>): InstanceUsage[] {
  const id = idOf(metrics);
  const used = metrics.containers.find(({ name }) => name === mainContainer)?.usage;
  const at = Date.parse(metrics.timestamp);
  if (id === null || used === undefined || !(at > 0)) return [];
  const before = counters.get(id);
  const seconds = Math.max(0, at - (before?.at ?? at)) / 1000;
  const cpuMilliseconds = (before?.cpuMilliseconds ?? 0) + toNumber(used.cpu) * 1000 * seconds;
  counters.set(id, { at: Math.max(at, before?.at ?? at), cpuMilliseconds });
  const labels = metrics.metadata?.labels ?? {};
  return [
    {
      id,
      ...instanceOf(labels),
      at,
      cpuMilliseconds,
      memoryBytes: toNumber(used.memory),
      receivedBytes: 0,
      sentBytes: 0,
    },
  ];
}
