import { DriverError, type ClusterDriver, type SourceDriver } from '@davit/drivers';
import { noGateway, type DriverSet } from '@davit/engine';

/**
 * Returns the drivers of an installation without a container engine (`DAVIT_LOCAL_ENGINE=false`), which uses Kubernetes
 * clusters only. The cluster has no instances and cannot create any; no gateway is started, and nothing is built.
 * Watching the cluster reports no events and no error.
 */
export function noEngine(source: SourceDriver): DriverSet {
  return { cluster: absentCluster, builder: null, carrier: null, source, gateway: noGateway };
}

const refuse = (): Promise<never> =>
  Promise.reject(
    new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: 'This installation has no container engine of its own (DAVIT_LOCAL_ENGINE is false).',
      hint: 'Put the environment on a Kubernetes cluster (cluster_id), then deploy it again.',
    }),
  );

// Removal succeeds, since nothing exists: otherwise, records of the cluster Local could not be deleted.
const nothing = (): Promise<void> => Promise.resolve();

const absentCluster: ClusterDriver = {
  kind: 'docker',
  isAbsent: true,
  describe: refuse,
  ping: refuse,
  start: refuse,
  awaitReady: refuse,
  setRestartPolicy: refuse,
  observe: () => Promise.resolve([]),
  retire: nothing,
  revive: refuse,
  removeService: nothing,
  removeEnvironment: nothing,
  probe: refuse,
  followLogs: refuse,
  readFile: refuse,
  download: refuse,
  upload: refuse,
  // The watch lasts until it is aborted: an earlier end would be treated as a lost connection.
  watch: (_onEvent, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }),
};
