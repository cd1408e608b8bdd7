import { DriverError, type Instance } from '@davit/drivers';
import { applyRoutes } from '../../routes/cluster-routes.ts';
import { pointAddress } from '../../routes/service-address.ts';
import { leaveOthers, moveNotes } from '../../former-clusters/leave-cluster.ts';
import type { ReleaseConfig } from '../../model.ts';
import { letDecide } from '../../scaling/by-cluster.ts';
import { firstCount, instanceCounts, scalingObstacle } from '../../scaling/instances.ts';
import { startWithImage } from '../../workload/registry-image.ts';
import { driversOf } from '../../shared/parts.ts';
import { readRuntimes, type RuntimeRow } from '../../store/requests.ts';
import { readyTimeout, terminationGrace } from '../../workload/workload.ts';
import {
  configOf,
  driverSet,
  noteDeployed,
  noteHere,
  ownerOf,
  workloadOf,
  type Step,
  type StepContext,
  type StepOutput,
} from '../../steps/step.ts';
import { awaitEnding, endSeconds, isHandedOver } from './former.ts';
import { setRestartPolicy } from '../../workload/restart-policy.ts';
import { retireOwn } from '../../steps/retire-own.ts';
import { assertSuits } from '../../steps/suits.ts';

/**
 * Seconds within which exited instances must be ready again during `route`, which nobody can cancel. Otherwise the step
 * fails.
 */
const readyAgainWithinSeconds = 60;

/** Grace period of the replaced instances, in seconds. */
const graceSeconds = ({ task, parts }: StepContext): number => terminationGrace(task.former?.config ?? null, parts.settings);

/** Stops the old instances first, if old and new instances cannot run side by side. */
export const halt: Step = {
  name: 'halt',
  metric: 'DEPLOYMENT',
  deadlineSeconds: (context) => 120 + graceSeconds(context),
  cancelable: true,
  async run(context) {
    const { task, call, journal, parts } = context;
    await assertSuits(context);
    if (await isUnchanged(context)) return {};
    if (task.former?.desired === 'RUNNING' && task.former.driver === task.driver)
      call.log(`${reasonToHalt(configOf(task))}: the running instances stop first.`);
    await journal.hold();
    // Until the new instances run, connections inside are refused instead of hanging.
    const closed = { owner: ownerOf(context), config: task.former?.config ?? configOf(task), instances: [] };
    await pointAddress(parts, task.driver, closed, call.signal);
    await driverSet(context).cluster.retire(
      { service: task.serviceId, exceptRollout: task.rollout },
      graceSeconds(context),
      call,
    );
    return {};
  },
  undo: startFormer,
};

function reasonToHalt(config: ReleaseConfig): string {
  return config.options?.recreate === true ? 'The update strategy is Recreate' : 'A volume or port has one user at a time';
}

interface Started extends StepOutput {
  /** The former instances already match the release and stay. */
  readonly kept?: boolean;
  /** Present if the former instances stay: the rollout that they belong to. */
  readonly rollout?: string;
  /** Number of instances of the rollout. */
  readonly instances?: number;
}

/** Starts the new instances, or keeps the running ones if nothing changed. */
export const start: Step<Started> = {
  name: 'start',
  metric: 'DEPLOYMENT',
  // Includes time for a pull, in case the engine no longer has the image.
  deadlineSeconds: (context) => 1_800 + endSeconds(context),
  cancelable: true,
  async run(context) {
    const { task, call, parts } = context;
    const config = configOf(task);
    await assertSuits(context);
    const former = await runtimeNow(context);
    if (await isUnchanged(context)) {
      task.kept = true;
      task.rollout = task.former?.rollout ?? task.rollout;
      task.count = former === null ? config.instances : instanceCounts(former, config).serving;
      call.log('Nothing changed since the last deployment: the running instances are kept.');
      return { kept: true, rollout: task.rollout, instances: task.count, skip: ['ready', 'retire'] };
    }
    task.count = firstCount(config, former);
    if (former !== null && former.driver !== task.driver) {
      const { clusters } = parts;
      const hasVolumes = config.volumes.length > 0;
      for (const note of moveNotes(clusters.nameOf(former.driver), clusters.nameOf(task.driver), hasVolumes)) call.log(note);
    }
    const workload = await workloadOf(context, { secrets: true });
    if (workload.instances === 0) call.log('min_running_instances is 0: no instance is started.');
    const obstacle = scalingObstacle(config);
    if (obstacle !== null) call.log(`The number of instances stays ${config.instances} even under load: ${obstacle}.`);
    if (workload.instances > config.instances)
      call.log(`${workload.instances} instances are started, the number that ran before.`);
    const image = { driver: task.driver, serviceName: task.name, source: config.source, imageName: task.imageName };
    await awaitEnding(context, workload.instances);
    await noteHere(context);
    await startWithImage(parts, image, call, () => driverSet(context).cluster.start(workload, call));
    return { instances: task.count };
  },
  resume(task, output) {
    task.count = output.instances ?? null;
    if (output.kept !== true || output.rollout === undefined) return;
    task.kept = true;
    task.rollout = output.rollout;
  },
  undo: retireOwn,
};

/**
 * Returns whether configuration and image are the same and all instances run. A replacement would then change nothing.
 */
async function isUnchanged(context: StepContext): Promise<boolean> {
  const { task, deployment, call } = context;
  const { former } = task;
  if (former?.driver !== task.driver || deployment.action !== 'DEPLOY') return false;
  if (former?.desired !== 'RUNNING' || former.rollout === null) return false;
  if (former.config_hash !== task.configHash || former.image_id !== task.imageId) return false;
  const { serving } = instanceCounts((await runtimeNow(context)) ?? former, configOf(task));
  const instances = await driverSet(context).cluster.observe({ service: task.serviceId, rollout: former.rollout }, call.signal);
  return instances.filter(({ state, index }) => state === 'RUNNING' && index < serving).length === serving;
}

/** Returns the current row of the service. Its number of instances may have changed before the deployment began. */
async function runtimeNow({ task, parts }: StepContext): Promise<RuntimeRow | null> {
  return (await parts.database.many(readRuntimes, [[task.serviceId]]))[0] ?? null;
}

/** Waits until the new instances are ready. They receive no requests until then. */
export const ready: Step = {
  name: 'ready',
  metric: 'DEPLOYMENT',
  deadlineSeconds: (context) => readyTimeout(configOf(context.task).readiness, context.parts.settings.readyTimeoutSeconds) + 30,
  cancelable: true,
  async run(context) {
    const { task, call } = context;
    const workload = await workloadOf(context, { secrets: false });
    if (workload.instances === 0) return {};
    const remarks = Promise.all([domainRemarks(context), releaseRemarks(context)]);
    remarks.catch(() => undefined); // Awaited below; an instance that fails comes first.
    task.instances = await driverSet(context).cluster.awaitReady(workload, call);
    call.log(`${task.instances.length} ${task.instances.length === 1 ? 'instance is' : 'instances are'} ready.`);
    for (const remark of (await remarks).flat()) call.log(remark);
    return {};
  },
};

async function releaseRemarks({ task, parts, deployment }: StepContext): Promise<readonly string[]> {
  if (deployment.action !== 'DEPLOY' || task.releaseId === null) return [];
  return (await parts.hooks.releaseRemarks?.(task.serviceId, task.releaseId)) ?? [];
}

/** Returns remarks on custom domains. Wrong DNS records are logged and stop nothing. */
async function domainRemarks({ task, parts }: StepContext): Promise<readonly string[]> {
  const { ports, options } = configOf(task);
  if (options?.unchecked === true || ports.every(({ hosts }) => hosts.length === 0)) return [];
  const remarks = (await parts.hooks.domainRemarks?.(task.serviceId)) ?? [];
  return remarks.map((remark) => `Custom domain: ${remark}`);
}

/**
 * Points the gateway and the address inside the environment at the new release, and then records the release as what
 * should run, which is the point of no return. The order matters because a gateway may refuse a route. In that case no
 * record demands an unreachable release, and the former one, whose routes the gateway has kept, keeps serving. After a
 * crash in between, the former release serves until the next runner repeats this step.
 */
export const route: Step = {
  name: 'route',
  metric: 'ROUTER_DEPLOYMENT',
  onlyForward: 'ONCE_DONE',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, call, parts, journal } = context;
    const config = configOf(task);
    const count = task.count ?? config.instances;
    const instances = await runningOrAgainReady(context, count);
    const runningStatus = count === 0 ? 'STOPPED' : 'RUNNING';
    // A runner that has lost the deployment must not change routes.
    await journal.hold();
    if (!task.kept) await pointAddress(parts, task.driver, { owner: ownerOf(context), config, instances }, call.signal);
    const gateway = parts.gateways[task.driver];
    const write = () => noteDeployed(context, { desired: 'RUNNING', runningStatus, instances: count });
    if (gateway === undefined) await write();
    else await gateway.setAndWrite(task.serviceId, { config, instances }, call.signal, write);
    const to = { owner: ownerOf(context), rollout: task.rollout, config };
    const led = await applyRoutes(parts, task.driver, to, call.signal);
    if (led !== null) for (const remark of led) call.log(remark);
    else if (config.ports.some((port) => port.public)) call.log('The gateway sends requests to the new instances.');
    const scaled = { owner: ownerOf(context), rollout: task.rollout, config, instances: count };
    if (await letDecide(parts, task.driver, scaled, call.signal)) call.log(decisionRemark(config));
    // Comes last: requests need not wait for it. Instances that are kept may lack it, as an earlier deployment may have
    // failed before it.
    await setRestartPolicy(parts, task.driver, instances, call);
    return {};
  },
  undo: restoreFormerRoutes,
};

function decisionRemark({ instances, scaling }: ReleaseConfig): string {
  const by = scaling?.events === undefined ? 'the resource usage of its instances' : 'events';
  return `From now on the cluster sets the number of instances by ${by}: from ${instances} to ${scaling?.most ?? 'as many as fit'}.`;
}

/**
 * Returns the instances that receive requests. An instance may have exited since it became ready, and its address may
 * already belong to another one. Exited instances are restarted and awaited again; the step then succeeds or reports
 * how they exit.
 */
async function runningOrAgainReady(context: StepContext, count: number): Promise<readonly Instance[]> {
  const instances = await runningInstances(context, count);
  if (instances.length >= count) return instances;
  const message = `${count - instances.length} of ${count} instances ended after they had been ready`;
  context.call.log(`${message}: waiting for them once more.`);
  const workload = await workloadOf(context, { secrets: false });
  const readyTimeoutSeconds = Math.min(workload.readyTimeoutSeconds, readyAgainWithinSeconds);
  await driverSet(context).cluster.awaitReady({ ...workload, readyTimeoutSeconds }, context.call);
  const again = await runningInstances(context, count);
  if (again.length >= count) return again;
  throw new DriverError({ cause: 'PROCESS_EXITED', message });
}

async function runningInstances(context: StepContext, count: number): Promise<readonly Instance[]> {
  const { task, call } = context;
  const instances = await driverSet(context).cluster.observe({ service: task.serviceId, rollout: task.rollout }, call.signal);
  return instances.filter(({ state, index }) => state === 'RUNNING' && index < count);
}

/**
 * Hands the old instances over to the keeper, which drains and stops them while later deployments run. If the keeper of
 * this process does not do that, or a cluster is left, this step drains and stops them itself.
 */
export const retire: Step = {
  name: 'retire',
  metric: 'DEPLOYMENT',
  runsBehind: true,
  deadlineSeconds: (context) => 120 + context.parts.settings.drainSeconds + graceSeconds(context),
  cancelable: false,
  async run(context) {
    const { task, parts, call } = context;
    const { cluster } = driverSet(context);
    const old = await cluster.observe({ service: task.serviceId, exceptRollout: task.rollout }, call.signal);
    const count = `${old.length} former ${old.length === 1 ? 'instance' : 'instances'}`;
    if (old.length > 0 && isHandedOver(parts, task.driver)) {
      parts.handover.handOver(task.driver, [...new Set(old.map(({ rollout }) => rollout))]);
      const { drainSeconds } = parts.settings;
      call.log(
        `${count} to stop, beside later deployments: open requests have ${drainSeconds} s, then the process has ${graceSeconds(context)} s.`,
      );
    } else {
      const ids = old.map((instance) => instance.id);
      if (old.length > 0) await parts.gateways[task.driver]?.awaitDrained(ids, parts.settings.drainSeconds * 1_000);
      // Another owner of the deployment may have started instances by now. This run would mistake them for former ones.
      await context.journal.hold();
      // A service that was scaled to zero also has remains: the values given to its instances, and its addresses.
      await cluster.retire({ service: task.serviceId, exceptRollout: task.rollout }, graceSeconds(context), call);
      if (old.length > 0) call.log(`${count} stopped.`);
    }
    await leaveOthers(parts, task, graceSeconds(context), call);
    return {};
  },
};

/**
 * Restarts the former instances that were stopped for the new ones. If the service ran on another cluster before, its
 * instances there are still serving.
 */
async function startFormer(context: StepContext): Promise<void> {
  const { task, call, parts } = context;
  const { former } = task;
  if (task.kept || former?.desired !== 'RUNNING' || former.config === null) return;
  if (former.rollout === task.rollout || former.driver !== task.driver) return;
  const { cluster } = driverSet(context);
  const left = await cluster.observe({ service: task.serviceId, rollout: former.rollout ?? '' }, call.signal);
  const { serving } = instanceCounts(former, former.config);
  if (left.filter(({ state, index }) => state === 'RUNNING' && index < serving).length >= serving) return;
  call.log('Starting the former release again.');
  const workload = await workloadOf(context, { former: true, secrets: true });
  await cluster.start(workload, call);
  const instances = await cluster.awaitReady(workload, call);
  await pointAddress(parts, task.driver, { owner: ownerOf(context), config: former.config, instances }, call.signal);
  await parts.gateways[task.driver]?.set(task.serviceId, former.config, instances, call.signal);
  const to = { owner: ownerOf(context), rollout: workload.rollout, config: former.config };
  await applyRoutes(parts, task.driver, to, call.signal);
  await setRestartPolicy(parts, task.driver, instances, call);
}

/**
 * Routes requests to the former instances again before the new ones are removed: those of the gateway, if it already
 * sends them to the new instances, and those inside the environment.
 */
async function restoreFormerRoutes(context: StepContext): Promise<void> {
  const { task, parts, call } = context;
  if (task.kept) return;
  const { cluster } = driversOf(parts, task.driver);
  const { former } = task;
  const isServing = former?.desired === 'RUNNING' && former.config !== null && former.driver === task.driver;
  const config = isServing ? former.config : null;
  const instances = config === null ? [] : await formerInstances(context, config);
  if (task.config !== null) {
    const to = { owner: ownerOf(context), config: config ?? task.config, instances };
    await pointAddress(parts, task.driver, to, call.signal);
  }
  const gateway = parts.gateways[task.driver];
  if (gateway === undefined) return;
  const own = await cluster.observe({ service: task.serviceId, rollout: task.rollout }, call.signal);
  if (!gateway.serves(own.map(({ id }) => id))) return;
  if (config === null) await gateway.remove(task.serviceId);
  else await gateway.set(task.serviceId, config, instances, call.signal);
}

async function formerInstances({ task, parts, call }: StepContext, config: ReleaseConfig): Promise<readonly Instance[]> {
  const { former } = task;
  if (former === null) return [];
  const { serving } = instanceCounts(former, config);
  const { cluster } = driversOf(parts, task.driver);
  const left = await cluster.observe({ service: task.serviceId, rollout: former.rollout ?? '' }, call.signal);
  return left.filter(({ state, index }) => state === 'RUNNING' && index < serving);
}
