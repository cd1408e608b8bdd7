import { neverAborted } from '@davit/base';
import type { ClusterHealth } from './cluster-health.ts';
import type { ClusterDriver, ClusterRoutes, ClusterUpgrades } from './driver.ts';
import type { ClusterCharts } from './helm-driver.ts';
import type { ClusterBuilder } from './image-builder.ts';
import type { ClusterScaling } from './scaling.ts';
import type { ClusterSchedules } from './schedules.ts';

/*
 * Drivers and optional capabilities that delegate each call to the current driver. The driver may be opened by the
 * first call, or replaced when credentials change. The methods are listed one by one, so that the compiler reports a
 * missing one.
 */

/**
 * Runs an action on the current driver. The signal given to the action may abort earlier than the signal of the call.
 * `provesReachable`: whether success proves that the cluster is reachable. False for calls that also succeed when the
 * connection drops, or that never contact the cluster.
 */
export type Use<Part> = <Result>(
  signal: AbortSignal,
  action: (part: Part, signal: AbortSignal) => Promise<Result>,
  provesReachable?: boolean,
) => Promise<Result>;

/** Returns a driver with everything that each cluster supports, and metrics. */
export function proxyCluster(kind: string, use: Use<ClusterDriver>): ClusterDriver {
  return {
    kind,
    describe: (signal) => use(signal, (cluster, within) => cluster.describe(within)),
    ping: (signal) => use(signal, (cluster, within) => cluster.ping(within)),
    start: (workload, call) => use(call.signal, (cluster, signal) => cluster.start(workload, { ...call, signal })),
    awaitReady: (workload, call) => use(call.signal, (cluster, signal) => cluster.awaitReady(workload, { ...call, signal })),
    setRestartPolicy: (instances, signal) => use(signal, (cluster, within) => cluster.setRestartPolicy(instances, within), false),
    observe: (selector, signal) => use(signal, (cluster, within) => cluster.observe(selector, within)),
    retire: (selector, graceSeconds, call) =>
      use(call.signal, (cluster, signal) => cluster.retire(selector, graceSeconds, { ...call, signal })),
    revive: (instanceId, call) => use(call.signal, (cluster, signal) => cluster.revive(instanceId, { ...call, signal })),
    removeService: (environment, service, call) =>
      use(call.signal, (cluster, signal) => cluster.removeService(environment, service, { ...call, signal })),
    removeEnvironment: (environment, call) =>
      use(call.signal, (cluster, signal) => cluster.removeEnvironment(environment, { ...call, signal })),
    // Some clusters run probes themselves; their drivers return without contacting the cluster.
    probe: (workload, instance, which, signal) =>
      use(signal, (cluster, within) => cluster.probe(workload, instance, which, within), false),
    followLogs: (instanceId, position, onLine, signal) =>
      use(signal, (cluster, within) => cluster.followLogs(instanceId, position, onLine, within), false),
    readFile: (instanceId, file, signal) => use(signal, (cluster, within) => cluster.readFile(instanceId, file, within)),
    download: (instanceId, path, signal) => use(signal, (cluster, within) => cluster.download(instanceId, path, within)),
    upload: (instanceId, what, signal) => use(signal, (cluster, within) => cluster.upload(instanceId, what, within)),
    watch: (onEvent, signal) => use(signal, (cluster, within) => cluster.watch(onEvent, within), false),
    metrics: {
      usage: (signal) => use(signal, async (cluster, within) => (await cluster.metrics?.usage(within)) ?? []),
      volumes: (signal) => use(signal, async (cluster, within) => (await cluster.metrics?.volumes(within)) ?? []),
      pressure: (signal) => use(signal, async (cluster, within) => (await cluster.metrics?.pressure(within)) ?? [], false),
    },
  };
}

export function proxyHealth(use: Use<ClusterHealth>): ClusterHealth {
  return { faults: (instanceIds, signal) => use(signal, (health, within) => health.faults(instanceIds, within)) };
}

export function proxyRoutes(use: Use<ClusterRoutes>): ClusterRoutes {
  return {
    apply: (served, signal) => use(signal, (routes, within) => routes.apply(served, within)),
    remove: (owner, signal) => use(signal, (routes, within) => routes.remove(owner, within)),
  };
}

export function proxyScaling(use: Use<ClusterScaling>): ClusterScaling {
  return {
    missing: (by, signal) => use(signal, (scaling, within) => scaling.missing(by, within)),
    apply: (scaled, signal) => use(signal, (scaling, within) => scaling.apply(scaled, within)),
    remove: (owner, signal) => use(signal, (scaling, within) => scaling.remove(owner, within)),
    wanted: (signal) => use(signal, (scaling, within) => scaling.wanted(within)),
    report: (owner, running, signal) => use(signal, (scaling, within) => scaling.report(owner, running, within)),
    watch: (onChange, signal) => use(signal, (scaling, within) => scaling.watch(onChange, within), false),
  };
}

export function proxySchedules(use: Use<ClusterSchedules>): ClusterSchedules {
  return {
    unable: (schedule, signal) => use(signal, (schedules, within) => schedules.unable(schedule, within)),
    apply: (schedule, options, call) =>
      use(call.signal, (schedules, signal) => schedules.apply(schedule, options, { ...call, signal })),
    suspend: (owner, signal) => use(signal, (schedules, within) => schedules.suspend(owner, within)),
    resume: (schedule, signal) => use(signal, (schedules, within) => schedules.resume(schedule, within)),
    remove: (owner, signal) => use(signal, (schedules, within) => schedules.remove(owner, within)),
    list: (signal) => use(signal, (schedules, within) => schedules.list(within)),
    runs: (selector, signal) => use(signal, (schedules, within) => schedules.runs(selector, within)),
    awaitStarted: (workload, call) =>
      use(call.signal, (schedules, signal) => schedules.awaitStarted(workload, { ...call, signal })),
  };
}

export function proxyCharts(use: Use<ClusterCharts>): ClusterCharts {
  return {
    access: (owner, access, signal) => use(signal, (charts, within) => charts.access(owner, access, within)),
    outside: (owner, objects, signal) => use(signal, (charts, within) => charts.outside(owner, objects, within)),
    revisions: (chart, signal) => use(signal, (charts, within) => charts.revisions(chart, within)),
    whileWatched: (chart, objects, work, call) =>
      use(call.signal, (charts, signal) => charts.whileWatched(chart, objects, work, { ...call, signal })),
    stop: (chart, call) => use(call.signal, (charts, signal) => charts.stop(chart, { ...call, signal })),
    wake: (chart, objects, seconds, signal) => use(signal, (charts, within) => charts.wake(chart, objects, seconds, within)),
    markClaims: (chart, signal) => use(signal, (charts, within) => charts.markClaims(chart, within)),
    removeClaims: (chart, signal) => use(signal, (charts, within) => charts.removeClaims(chart, within)),
    services: (chart, signal) => use(signal, (charts, within) => charts.services(chart, within)),
    state: (chart, signal) => use(signal, (charts, within) => charts.state(chart, within)),
  };
}

export function proxyUpgrades(use: Use<ClusterUpgrades>): ClusterUpgrades {
  return {
    state: (signal) => use(signal, (upgrades, within) => upgrades.state(within)),
    begin: (version, signal) => use(signal, (upgrades, within) => upgrades.begin(version, within)),
  };
}

/** Returns a builder. `limits` are known without opening a driver. */
export function proxyBuilder({ limits }: Pick<ClusterBuilder, 'limits'>, use: Use<ClusterBuilder>): ClusterBuilder {
  return {
    limits,
    declaredArguments: (source) => use(neverAborted, (builder) => builder.declaredArguments(source)),
    build: (request, call) => use(call.signal, (builder, signal) => builder.build(request, { ...call, signal })),
  };
}
