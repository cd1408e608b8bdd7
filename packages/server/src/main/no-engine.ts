import { DriverError, type ClusterDriver, type SourceDriver } from '@davit/drivers';
import { noGateway, type DriverSet } from '@davit/engine';

/**
 * What an installation has in place of a container engine of its own (`DAVIT_LOCAL_ENGINE=false`): it works on Kubernetes clusters alone.
 * Nothing is there and nothing can be made; no gateway is started, nothing is built, and what looks for an engine all the time finds
 * peace.
 */
export function noEngine(source: SourceDriver): DriverSet {
  return { cluster: absentCluster, builder: null, carrier: null, source, gateway: noGateway };
}

const refuse = (): Promise<never> =>
  Promise.reject(
    new DriverError({
      cause: 'ENGINE_UNREACHABLE',
      message: 'This installation works with no container engine of its own (DAVIT_LOCAL_ENGINE is false).',
      hint: 'Put the environment on a Kubernetes cluster (cluster_id), then deploy it again.',
    }),
  );

// What is not there need not be removed: else records of the cluster Local could not be deleted.
const nothing = (): Promise<void> => Promise.resolve();

const absentCluster: ClusterDriver = {
  kind: 'docker',
  isAbsent: true,
  describe: refuse,
  ping: refuse,
  start: refuse,
  awaitReady: refuse,
  observe: () => Promise.resolve([]),
  retire: nothing,
  revive: refuse,
  removeService: nothing,
  removeEnvironment: nothing,
  probe: refuse,
  followLogs: refuse,
  readFile: refuse,
  takeOut: refuse,
  putInto: refuse,
  // Until somebody has heard enough: an end would be taken for a connection that broke.
  watch: (_onEvent, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    }),
};
