import {
  createFakeCharts,
  DriverError,
  type ChartRef,
  type ClusterCharts,
  type ClusterDriver,
  type ClusterUpgrades,
  type FakeCluster,
  type Instance,
} from '@davit/drivers';
import type { ClusterDrivers } from '@davit/engine';

/** Helm and the releases on the Kubernetes cluster of the shop. */
export const chartsOfRack = createFakeCharts();

/** Returns the Kubernetes cluster of the shop: one in memory that also routes, installs charts, and upgrades. */
export function kubernetes(fake: FakeCluster): ClusterDrivers {
  const { builder, gateway, imageStore } = fake;
  const routes = { apply: () => Promise.resolve([]), remove: () => Promise.resolve() };
  const cluster = { ...fake.cluster, charts: charts(), followLogs: followLogs(fake.cluster), routes, upgrades: upgrades() };
  return { cluster, builder, gateway, imageStore };
}

/** Each release has a Service, and a pod that prints lines. */
function charts(): ClusterCharts {
  const service = {
    name: 'redis-exporter',
    type: 'ClusterIP',
    ports: [{ name: 'http', port: 8080 }],
    selectors: { app: 'redis-exporter' },
  };
  const startedAt = new Date().toISOString();
  return {
    ...chartsOfRack.charts,
    services: () => Promise.resolve([service]),
    state: async (chart, signal) => ({
      ...(await chartsOfRack.charts.state(chart, signal)),
      instances: [podOf(chart, startedAt)],
    }),
  };
}

const pod = '-master-0';
const lines = ['DB loaded from append only file: 0.002 seconds', 'Ready to accept connections tcp'];

function podOf({ owner: { environment, service }, release }: ChartRef, startedAt: string): Instance {
  const id = `${release}${pod}`;
  const place = { environment, service, release: '', rollout: '', index: 0 };
  return { id, name: id, ...place, state: 'RUNNING', startedAt, exit: null, endpoints: [] };
}

/** Returns the method that reads output: the pods of charts have their lines, all other instances what was printed. */
function followLogs(cluster: ClusterDriver): ClusterDriver['followLogs'] {
  return async (id, position, onLine, signal) => {
    if (!id.endsWith(pod)) return cluster.followLogs(id, position, onLine, signal);
    const timestamp = new Date().toISOString();
    if ((position?.at ?? null) === null) for (const text of lines) await onLine({ timestamp, stream: 'stdout', text });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  };
}

/** The cluster has one newer version, and upgrades to it. */
function upgrades(): ClusterUpgrades {
  let underWay: string | null = null;
  return {
    state: () => Promise.resolve({ next: underWay === null ? '1.36.3+k3s1' : null, hindrance: null, underWay, failure: null }),
    begin: (version) => {
      if (version === '') throw new DriverError({ cause: 'CLUSTER_ACCESS_DENIED', message: 'there is no such version' });
      underWay = version;
      return Promise.resolve();
    },
  };
}
