import { removeRuns, removeSchedule } from '../store/jobs.ts';
import * as store from '../store/journal.ts';
import { disarm } from '../jobs/arming.ts';
import { removeClusterRoutes } from '../routes/cluster-routes.ts';
import { pointAddress } from '../routes/service-address.ts';
import { leaveCluster } from '../former-clusters/leave-cluster.ts';
import { forgetServiceCluster, clustersOfService } from '../store/service-clusters.ts';
import { terminationGrace } from '../workload/workload.ts';
import { driverSet, hadSchedule, ownerOf, type Step, type StepContext } from './step.ts';

/** Removes a service from the gateway. The removal is recorded first, so that the keeper does not restore the route. */
export const unroute: Step = {
  name: 'unroute',
  metric: 'ROUTER_DEPLOYMENT',
  onlyForward: 'ONCE_BEGUN',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, journal, parts, call } = context;
    await journal.writeAny(removeSchedule, [task.serviceId]);
    await journal.writeAny(store.stopRuntime, [task.serviceId]);
    const gateway = parts.gateways[task.driver];
    await gateway?.remove(task.serviceId);
    const config = task.former?.config ?? null;
    if (config !== null) await pointAddress(parts, task.driver, { owner: ownerOf(context), config, instances: [] }, call.signal);
    const { environment, service } = ownerOf(context);
    if (hadSchedule(task)) await disarm(parts, task.driver, { environment, service }, call.signal);
    await removeClusterRoutes(parts, task.driver, { environment, service }, call.signal);
    const instances = await driverSet(context).cluster.observe({ service: task.serviceId }, call.signal);
    await gateway?.awaitDrained(
      instances.map((instance) => instance.id),
      parts.settings.drainSeconds * 1_000,
    );
    return {};
  },
};

export const stop: Step = {
  name: 'stop',
  metric: 'DEPLOYMENT',
  deadlineSeconds: ({ task, parts }) => 120 + terminationGrace(task.former?.config ?? null, parts.settings),
  cancelable: false,
  async run(context) {
    const { task, parts, call, journal } = context;
    const grace = terminationGrace(task.former?.config ?? null, parts.settings);
    await journal.hold();
    await driverSet(context).cluster.retire({ service: task.serviceId }, grace, call);
    call.log('All instances are stopped.');
    return {};
  },
};

/**
 * Removes volumes, images and the engine's records of the service. The record of the service itself is removed at the
 * end of the deployment.
 */
export const remove: Step = {
  name: 'remove',
  metric: 'DEPLOYMENT',
  deadlineSeconds: 300,
  cancelable: false,
  async run(context) {
    const { task, deployment, journal, call } = context;
    await journal.hold();
    await driverSet(context).cluster.removeService(deployment.environment_id, task.serviceId, call);
    await leaveAll(context);
    await journal.writeAny(removeRuns, [task.serviceId]);
    await journal.writeAny(store.removeRuntime, [task.serviceId]);
    call.log('Containers, volumes and images are removed.');
    return {};
  },
};

/**
 * Removes everything that clusters have of a removed service, and of its environment where nothing else of the
 * environment is left.
 */
export async function leaveAll({ task, deployment, call, parts }: StepContext): Promise<void> {
  for (const row of await parts.database.many(clustersOfService, [task.serviceId])) {
    const elsewhere = parts.drivers[row.driver];
    // Resources of the environment itself on its own cluster are removed with the environment.
    if (elsewhere !== undefined && row.driver !== deployment.driver) {
      await leaveCluster(parts, row, call);
      continue;
    }
    if (row.driver !== task.driver) await elsewhere?.cluster.removeService(deployment.environment_id, task.serviceId, call);
    await parts.database.run(forgetServiceCluster, [row.service_id, row.driver]);
  }
}
