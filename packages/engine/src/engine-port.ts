import type { Database, Queryable } from '@davit/db';
import { createBackupPort } from './backups/port.ts';
import type { Clusters } from './clusters/clusters.ts';
import { hashOf } from './hash.ts';
import type { Kinds } from './kinds/kinds.ts';
import { latencyBuckets, readMetrics, readMetricTotals } from './metrics/read.ts';
import { LogSearcher } from './log-archive/search.ts';
import { readDeploymentLines, readDeploymentLog, readServiceLines, readServiceLog, serviceLinesStart } from './log-lines.ts';
import type { DeploymentView, EnginePort, Page, ReleaseView } from './port.ts';
import { planRequest } from './queue/plan-request.ts';
import { cancel, queueRequest, withdraw } from './queue/request.ts';
import { stateOf } from './states.ts';
import { conditionsOfServices } from './store/conditions.ts';
import * as releases from './store/releases.ts';
import * as requests from './store/requests.ts';
import * as views from './store/views.ts';
import {
  toBegunStep,
  toCondition,
  toDeploymentView,
  toEnvironmentView,
  toHistoryService,
  toReleaseView,
  toServiceOverview,
  toServiceState,
  toServiceView,
} from './view.ts';

export interface PortParts {
  /** Cluster lookups, keyed by `cluster.driver`. */
  clusters: Pick<Clusters, 'state' | 'check' | 'upgrade' | 'canConnect' | 'nameOf'>;
  kinds: Kinds;
  source: EnginePort['source'] & Pick<EnginePort, 'readSource'>;
  clearEndedRuns: EnginePort['clearEndedRuns'];
  servedRoutes: EnginePort['servedRoutes'];
  chartServices: EnginePort['chartServices'];
  terraformVersions: EnginePort['terraformVersions'];
  terraformResources: EnginePort['terraformResources'];
  clusterHealth: EnginePort['clusterHealth'];
  engineDisk: EnginePort['engineDisk'];
  isTerraformRun: EnginePort['isTerraformRun'];
  terraformState: EnginePort['terraformState'];
}

/**
 * Creates the engine's port for the API. It works without a runner in this process: the runner of another process
 * executes the queue.
 */
export function createEnginePort(database: Database, parts: PortParts): EnginePort {
  const { kinds } = parts;
  const searcher = new LogSearcher();
  return {
    request: (tx, request) => queueRequest(kinds, tx, request),
    plan: (request) => planRequest(database, request, parts),
    backups: createBackupPort(),
    withdraw: (deploymentId) => withdraw(database, deploymentId),
    cancel: (environmentId, force) => cancel(database, environmentId, force),
    services: async (db, ids) => {
      const rows = ids.length === 0 ? [] : await db.many(views.serviceViews, [ids]);
      return rows.map((row) => toServiceView(kinds, row));
    },
    serviceStates: async (db, ids) => {
      const rows = ids.length === 0 ? [] : await db.many(views.serviceStates, [ids]);
      return rows.map((row) => toServiceState(kinds, row));
    },
    stateMark: async (db, id) => (await db.one(views.stateMark, [id])).mark,
    stateOf: (action, phase, serviceType) => stateOf(action, phase, kinds.ofService(serviceType)),
    environment: async (db, id) => {
      const last = await db.maybe(views.environmentLast, [id]);
      return toEnvironmentView(last, await db.maybe(views.environmentWaiting, [id]));
    },
    serviceHistory: async (db, id, page) => {
      const rows = await db.many(views.serviceHistory, [id, ...limits(page)]);
      return rows.map((row) => toHistoryService(kinds, row));
    },
    environmentHistory: async (db, id, page) =>
      withServices(kinds, db, await db.many(views.environmentHistory, [id, ...limits(page)])),
    deploymentSteps: async (db, id) => (await db.many(views.begunSteps, [id])).map(toBegunStep),
    deployment: async (db, id) => (await withServices(kinds, db, await db.many(views.deploymentById, [id])))[0] ?? null,
    queueOfEnvironment: async (db, id) => withServices(kinds, db, await db.many(views.environmentQueue, [id])),
    queueOfService: async (db, id) => withServices(kinds, db, await db.many(views.serviceQueue, [id])),
    environmentOfRequest: async (db, id) => {
      const ids = await db.maybe(requests.readRequestIds, [id]);
      return ids === undefined ? null : { organizationId: ids.organization_id, environmentId: ids.environment_id };
    },
    deploymentLog: readDeploymentLog,
    serviceLog: readServiceLog,
    searchLog: (db, serviceId, search, signal) => searcher.search(db, serviceId, search, signal),
    deploymentLines: readDeploymentLines,
    serviceLines: readServiceLines,
    serviceLinesStart,
    metrics: readMetrics,
    metricTotals: readMetricTotals,
    latencyBuckets,
    deployedConfig: async (db, serviceId) => (await db.many(requests.readRuntimes, [[serviceId]]))[0]?.config ?? null,
    deployedConfigs: async (db, ids) => {
      const rows = ids.length === 0 ? [] : await db.many(requests.readRuntimes, [ids]);
      return new Map(rows.flatMap(({ service_id, config }) => (config === null ? [] : [[service_id, config] as const])));
    },
    ...releaseMethods,
    ...overviewMethods(kinds),
    hash: hashOf,
    isKnown: async (db, serviceId) => (await db.one(requests.isKnown, [serviceId])).known,
    readSource: (question) => parts.source.readSource(question),
    source: parts.source,
    clearEndedRuns: (which) => parts.clearEndedRuns(which),
    servedRoutes: (driver, serviceId) => parts.servedRoutes(driver, serviceId),
    chartServices: (db, serviceId) => parts.chartServices(db, serviceId),
    terraformVersions: () => parts.terraformVersions(),
    terraformResources: (db, serviceId) => parts.terraformResources(db, serviceId),
    isTerraformRun: (run) => parts.isTerraformRun(run),
    terraformState: (run, request) => parts.terraformState(run, request),
    describeCluster: async (driver) => (await parts.clusters.state(driver)).facts,
    clusterState: (driver) => parts.clusters.state(driver),
    checkCluster: (driver) => parts.clusters.check(driver),
    upgradeCluster: (driver, version) => parts.clusters.upgrade(driver, version),
    clusterHealth: () => parts.clusterHealth(),
    engineDisk: (signal) => parts.engineDisk(signal),
    connectsClusters: parts.clusters.canConnect,
  };
}

type ReleaseMethods = 'release' | 'deployedRelease' | 'workingRelease' | 'portsOfReleases' | 'secretPaths' | 'plainValues';

const releaseMethods: Pick<EnginePort, ReleaseMethods> = {
  release: async (db, serviceId, id) => orNull(await db.maybe(releases.releasesOfService, [serviceId, [id]])),
  deployedRelease: async (db, serviceId) => orNull(await db.maybe(releases.deployedRelease, [serviceId])),
  workingRelease: async (db, serviceId, before) => orNull(await db.maybe(releases.lastWorking, [serviceId, before])),
  portsOfReleases: async (db, ids) => {
    const rows = ids.length === 0 ? [] : await db.many(releases.portsOfReleases, [ids]);
    return new Map(rows.map(({ id, ports }) => [id, ports]));
  },
  plainValues: async (db, id, paths) => (await db.many(releases.plainValues, [id, [...paths]])).map(({ value }) => value),
  secretPaths: async (db, id) => new Set((await db.many(releases.secretPaths, [id])).map(({ path }) => path)),
};

type OverviewMethods = 'serviceOverviews' | 'stateMarks' | 'conditions' | 'environments';

/** Returns the methods that read many services or environments for an overview. */
function overviewMethods(kinds: Kinds): Pick<EnginePort, OverviewMethods> {
  return {
    serviceOverviews: async (db, ids) => {
      const rows = ids.length === 0 ? [] : await db.many(views.serviceOverviews, [ids]);
      return rows.map((row) => toServiceOverview(kinds, row));
    },
    stateMarks: async (db, ids) => new Map((await db.many(views.stateMarks, [ids])).map(({ id, mark }) => [id, mark])),
    conditions: async (db, ids) => {
      const rows = Map.groupBy(await db.many(conditionsOfServices, [ids]), ({ service_id }) => service_id);
      return new Map([...rows].map(([id, found]) => [id, found.map(toCondition)]));
    },
    environments: async (db, ids) => {
      const last = new Map((await db.many(views.environmentsLast, [ids])).map((row) => [row.environment_id, row]));
      const waiting = new Map((await db.many(views.environmentsWaiting, [ids])).map((row) => [row.environment_id, row]));
      return ids.map((id) => toEnvironmentView(last.get(id), waiting.get(id)));
    },
  };
}

function orNull(row: releases.ReleaseRow | undefined): ReleaseView | null {
  return row === undefined ? null : toReleaseView(row);
}

function limits(page: Page): [number, number, string | null] {
  return [page.pageSize, (page.page - 1) * page.pageSize, page.before ?? null];
}

async function withServices(kinds: Kinds, db: Queryable, rows: readonly views.DeploymentRow[]): Promise<DeploymentView[]> {
  if (rows.length === 0) return [];
  const services = Map.groupBy(
    await db.many(views.servicesOfDeployments, [rows.map((row) => row.id)]),
    (row) => row.deployment_id,
  );
  return rows.map((row) => toDeploymentView(kinds, row, services.get(row.id) ?? []));
}
