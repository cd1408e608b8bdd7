import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Database, Queryable } from '@davit/db';
import { createBackupPort } from './backups/port.ts';
import type { Clusters } from './clusters/clusters.ts';
import { moveNotes } from './clusters/leave.ts';
import { hashOf } from './hash.ts';
import { changesBetween } from './plan/changes.ts';
import { latencyBuckets, readMetrics, readMetricTotals } from './metrics/read.ts';
import { needsHalt, planStages } from './plan/plan.ts';
import { pinnedName } from './registry-image.ts';
import type {
  DeploymentLogLine,
  DeploymentPlan,
  DeploymentRequest,
  DeploymentView,
  EnginePort,
  Page,
  PlannedService,
  ReleaseConfig,
  RequestedService,
  ServiceLogLine,
} from './port.ts';
import { firstCount, instanceCounts, scalingObstacle } from './scaling/instances.ts';
import * as logs from './store/logs.ts';
import * as requests from './store/requests.ts';
import * as views from './store/views.ts';
import { executionId, toDeploymentView, toEnvironmentView, toHistoryService, toServiceView } from './view.ts';

export interface PortParts {
  /** Of which cluster, by the `driver` of what is on it. */
  clusters: Pick<Clusters, 'state' | 'check' | 'upgrade' | 'canConnect' | 'nameOf'>;
  source: EnginePort['source'] & Pick<EnginePort, 'readSource'>;
  clearEndedRuns: EnginePort['clearEndedRuns'];
  servedRoutes: EnginePort['servedRoutes'];
  chartServices: EnginePort['chartServices'];
  terraformVersions: EnginePort['terraformVersions'];
  terraformResources: EnginePort['terraformResources'];
  isTerraformRun: EnginePort['isTerraformRun'];
  terraformState: EnginePort['terraformState'];
}

/** The engine as the API sees it. Works without a runner in the process: another one does what is queued. */
export function createEnginePort(database: Database, parts: PortParts): EnginePort {
  return {
    request: (tx, request) => queueRequest(tx, request),
    plan: (request) => planRequest(database, request, parts.clusters),
    backups: createBackupPort(),
    withdraw: (deploymentId) => withdraw(database, deploymentId),
    cancel: (environmentId, force) => cancel(database, environmentId, force),
    services: async (db, ids) => (ids.length === 0 ? [] : (await db.many(views.serviceViews, [ids])).map(toServiceView)),
    environment: async (db, id) => {
      const last = await db.maybe(views.environmentLast, [id]);
      return toEnvironmentView(last, await db.maybe(views.environmentWaiting, [id]));
    },
    serviceHistory: async (db, id, page) => (await db.many(views.serviceHistory, [id, ...limits(page)])).map(toHistoryService),
    environmentHistory: async (db, id, page) => withServices(db, await db.many(views.environmentHistory, [id, ...limits(page)])),
    deployment: async (db, id) => (await withServices(db, await db.many(views.deploymentById, [id])))[0] ?? null,
    queueOfEnvironment: async (db, id) => withServices(db, await db.many(views.environmentQueue, [id])),
    queueOfService: async (db, id) => withServices(db, await db.many(views.serviceQueue, [id])),
    placeOfRequest: async (db, id) => {
      const place = await db.maybe(requests.requestPlace, [id]);
      return place === undefined ? null : { organizationId: place.organization_id, environmentId: place.environment_id };
    },
    deploymentLog: readDeploymentLog,
    serviceLog: async (db, serviceId, tail) => (await db.many(logs.readServiceLog, [serviceId, tail])).map(toServiceLine),
    deploymentLines: async (db, id, which) => {
      const rows =
        'numbers' in which
          ? db.many(logs.deploymentLinesByIds, [id, which.numbers])
          : db.many(logs.deploymentLinesAfter, [id, which.after, which.limit]);
      return (await rows).map(toDeploymentLine);
    },
    serviceLines: async (db, id, which) => {
      const rows =
        'numbers' in which
          ? db.many(logs.serviceLinesByIds, [id, which.numbers])
          : db.many(logs.serviceLinesAfter, [id, which.after, which.limit]);
      return (await rows).map(toServiceLine);
    },
    serviceLinesStart: async (db, id, tail, except) => (await db.one(logs.serviceLinesStart, [id, tail, except])).number,
    metrics: readMetrics,
    metricTotals: readMetricTotals,
    latencyBuckets,
    deployedConfig: async (db, serviceId) => (await db.many(requests.readRuntimes, [[serviceId]]))[0]?.config ?? null,
    deployedConfigs: async (db, ids) => {
      const rows = ids.length === 0 ? [] : await db.many(requests.readRuntimes, [ids]);
      return new Map(rows.flatMap(({ service_id, config }) => (config === null ? [] : [[service_id, config] as const])));
    },
    hash: hashOf,
    isKnown: async (db, serviceId) => (await db.one(requests.isOpen, [serviceId])).known,
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
    connectsClusters: parts.clusters.canConnect,
  };
}

function limits(page: Page): [number, number, string | null] {
  return [page.pageSize, (page.page - 1) * page.pageSize, page.before ?? null];
}

async function withServices(db: Queryable, rows: readonly views.DeploymentRow[]): Promise<DeploymentView[]> {
  if (rows.length === 0) return [];
  const services = Map.groupBy(
    await db.many(views.servicesOfDeployments, [rows.map((row) => row.id)]),
    (row) => row.deployment_id,
  );
  return rows.map((row) => toDeploymentView(row, services.get(row.id) ?? []));
}

async function queueRequest(tx: Queryable, request: DeploymentRequest): ReturnType<EnginePort['request']> {
  const { place, trigger } = request;
  await tx.many(requests.lockQueue, [place.environmentId]);
  const services = await whatCanBeDone(tx, request);
  await assertReleasesUsable(tx, services);
  const ids = services.map((service) => service.serviceId);
  // A run that was asked for by itself happens once for each time that it was asked for.
  const isForced = services.some((service) => service.event !== undefined);
  const waiting = isForced
    ? undefined
    : await tx.maybe(requests.findMergeable, [place.environmentId, trigger.actor, request.action, ids]);
  const deploymentId = waiting?.id ?? randomUUID();
  if (waiting === undefined) {
    await tx.run(requests.insertDeployment, [
      deploymentId,
      place.organizationId,
      place.projectId,
      place.environmentId,
      place.clusterId,
      place.driver,
      request.action,
      request.wholeEnvironment,
      trigger.origin,
      trigger.triggeredBy,
      trigger.actor,
    ]);
  } else if (request.wholeEnvironment) {
    await tx.run(requests.markWhole, [deploymentId, true]);
  }
  await writeServices(tx, request, services, deploymentId);
  await tx.many(requests.notifyRunners, ['queued']);
  return { deploymentId, merged: waiting !== undefined };
}

/** Restart and stop need something that ran: for one service that is an error, for an environment the others are done. */
async function whatCanBeDone(tx: Queryable, request: DeploymentRequest): Promise<readonly RequestedService[]> {
  if (request.action !== 'RESTART' && request.action !== 'STOP') return request.services;
  const [endless] = request.services.filter(({ serviceType }) => serviceType === 'TERRAFORM');
  if (endless !== undefined && !request.wholeEnvironment) {
    throw new AppError({
      code: 'NOT_SUPPORTED',
      message: `${endless.name} is a Terraform configuration: nothing of it runs that could be stopped or restarted. Leave it out.`,
    });
  }
  const chart = request.action === 'RESTART' ? request.services.find(({ serviceType }) => serviceType === 'HELM') : undefined;
  if (chart !== undefined) {
    throw new AppError({
      code: 'NOT_SUPPORTED',
      message: `${chart.name} is a Helm chart, whose parts are not restarted as a whole. Leave it out, or deploy it.`,
    });
  }
  const ids = request.services.map((service) => service.serviceId);
  const deployed = new Set((await tx.many(requests.everDeployed, [ids])).map((row) => row.service_id));
  const missing = request.services.find((service) => !deployed.has(service.serviceId));
  if (missing !== undefined && !request.wholeEnvironment) {
    throw new AppError({
      code: 'NEVER_DEPLOYED',
      message: `${missing.name} has not been deployed yet, so there is nothing to ${request.action.toLowerCase()}. Deploy it first.`,
    });
  }
  return request.services.filter(({ serviceId, serviceType }) => deployed.has(serviceId) && serviceType !== 'TERRAFORM');
}

async function assertReleasesUsable(tx: Queryable, services: readonly RequestedService[]): Promise<void> {
  const wanted = services.flatMap((service) =>
    service.release !== undefined && 'releaseId' in service.release ? [{ service, releaseId: service.release.releaseId }] : [],
  );
  if (wanted.length === 0) return;
  const found = new Map((await tx.many(requests.readReleases, [wanted.map((one) => one.releaseId)])).map((row) => [row.id, row]));
  for (const { service, releaseId } of wanted) {
    const release = found.get(releaseId);
    if (release === undefined || release.service_id !== service.serviceId) {
      throw new AppError({
        code: 'NOT_FOUND',
        message: `${service.name} has no release ${releaseId}. Its deployment history lists them.`,
      });
    }
    if (service.serviceType !== 'HELM' && release.image_id === null && pinnedName(release.image_name) === null) {
      throw new AppError({
        code: 'RELEASE_NOT_USABLE',
        message: `release ${releaseId} of ${service.name} has no image: it was never built, or it is older than the releases whose images are kept (DAVIT_KEPT_RELEASES). Choose a newer one, or deploy its commit.`,
      });
    }
  }
}

async function writeServices(
  tx: Queryable,
  request: DeploymentRequest,
  services: readonly RequestedService[],
  deploymentId: string,
): Promise<void> {
  if (services.length === 0) return;
  const rows = services.map((service) => ({ service, releaseId: releaseIdOf(service) }));
  const fresh = rows.flatMap(({ service, releaseId }) =>
    service.release !== undefined && 'config' in service.release
      ? [
          {
            id: releaseId,
            service_id: service.serviceId,
            config: service.release.config,
            config_hash: hashOf(service.release.config),
            commit: service.release.commitId === null ? null : { id: service.release.commitId },
            values_commit: service.release.valuesCommitId ?? null,
          },
        ]
      : [],
  );
  if (fresh.length > 0) {
    const { organizationId, environmentId } = request.place;
    await tx.run(requests.insertReleases, [organizationId, environmentId, request.trigger.triggeredBy, JSON.stringify(fresh)]);
  }
  const entries = rows.map(({ service, releaseId }) => ({
    service_id: service.serviceId,
    service_type: service.serviceType,
    service_name: service.name,
    icon_uri: service.iconUri,
    release_id: releaseId,
    rollout: randomUUID(),
    stage_id: service.stage.id,
    stage_name: service.stage.name,
    stage_position: service.stage.position,
    event: service.event ?? null,
  }));
  await tx.run(requests.insertServices, [deploymentId, JSON.stringify(entries)]);
}

function releaseIdOf(service: RequestedService): string | null {
  if (service.release === undefined) return null;
  return 'releaseId' in service.release ? service.release.releaseId : randomUUID();
}

async function planRequest(
  database: Database,
  request: DeploymentRequest,
  clusters: Pick<Clusters, 'nameOf'>,
): Promise<DeploymentPlan> {
  const services = await whatCanBeDone(database, request);
  await assertReleasesUsable(database, services);
  const ids = services.map((service) => service.serviceId);
  const runtimes = new Map((await database.many(requests.readRuntimes, [ids])).map((row) => [row.service_id, row]));
  const byId = new Map(services.map((service) => [service.serviceId, service]));
  const inputs = services.map((service) => {
    const wanted = service.release;
    const config = wanted !== undefined && 'config' in wanted ? wanted.config : (runtimes.get(service.serviceId)?.config ?? null);
    return {
      serviceId: service.serviceId,
      stageName: service.stage.name,
      stagePosition: service.stage.position,
      config,
      hasImage: wanted !== undefined && 'releaseId' in wanted,
      event: service.event ?? null,
      serviceType: service.serviceType,
    };
  });
  const configs = new Map(inputs.map((input) => [input.serviceId, input]));
  const stages = planStages(request.action, inputs).map((stage) => ({
    name: stage.name,
    services: stage.tasks.map((task): PlannedService => {
      const input = configs.get(task.serviceId);
      const former = runtimes.get(task.serviceId);
      const running = former?.desired === 'RUNNING' && former.config !== null ? instanceCounts(former, former.config).serving : 0;
      const starts = request.action === 'DEPLOY' || request.action === 'RESTART';
      const config = input?.config ?? null;
      const moves = running > 0 && request.action === 'DEPLOY' && former?.driver !== request.place.driver;
      const downtime = running > 0 && !moves && (!starts || (config !== null && needsHalt(config)));
      const names = [former?.driver ?? '', request.place.driver].map((key) => clusters.nameOf(key));
      return {
        serviceId: task.serviceId,
        name: byId.get(task.serviceId)?.name ?? '',
        steps: [...task.build, ...task.deploy],
        instances: { from: running, to: starts && config !== null ? firstCount(config, former ?? null) : 0 },
        expectedDowntime: downtime,
        notes:
          input?.serviceType === 'TERRAFORM' || input?.serviceType === 'HELM'
            ? []
            : [
                ...notesOf(request.action, input?.hasImage ?? false, downtime && starts),
                ...(moves ? moveNotes(names[0] ?? '', names[1] ?? '', (config?.volumes.length ?? 0) > 0) : []),
                ...(starts ? scalingNotes(config) : []),
              ],
        changes: starts && config !== null ? changesBetween(former?.config ?? null, config) : [],
      };
    }),
  }));
  return { action: request.action, stages };
}

function scalingNotes(config: ReleaseConfig | null): string[] {
  const obstacle = config === null ? null : scalingObstacle(config);
  return obstacle === null ? [] : [`The number of instances does not follow their load: ${obstacle}.`];
}

function notesOf(action: string, hasImage: boolean, halts: boolean): string[] {
  const notes: string[] = [];
  if (action === 'DEPLOY') {
    notes.push(
      hasImage
        ? 'The release runs the image that it was built with; nothing is built.'
        : 'The image is built unless one of the same commit and build settings exists.',
    );
  }
  if (halts) {
    notes.push(
      'A volume (or a public UDP port) has one user at a time: the running instances stop before the new ones start, and the service does not answer in between.',
    );
  }
  return notes;
}

async function withdraw(database: Database, deploymentId: string): Promise<void> {
  await database.transaction(async (tx) => {
    if ((await tx.maybe(requests.withdrawRequest, [deploymentId])) !== undefined) {
      // The next one in line may be able to start now.
      await tx.many(requests.notifyRunners, ['withdrawn']);
      return;
    }
    const place = await tx.maybe(requests.requestPlace, [deploymentId]);
    if (place === undefined || place.status === 'WITHDRAWN') {
      throw new AppError({ code: 'NOT_FOUND', message: 'There is no such deployment request in the queue.' });
    }
    throw new AppError({
      code: 'ALREADY_STARTED',
      message:
        'This deployment has left the queue. Cancel it with POST /environment/{environmentId}/cancelDeployment while it runs.',
    });
  });
}

async function cancel(database: Database, environmentId: string, force: boolean): Promise<void> {
  await database.transaction(async (tx) => {
    const canceled = await tx.maybe(requests.requestCancel, [environmentId, force]);
    if (canceled === undefined) {
      throw new AppError({
        code: 'NOTHING_TO_CANCEL',
        message: 'No deployment of this environment is running that is not being canceled already.',
      });
    }
    await tx.run(requests.markCanceling, [canceled.id]);
    await tx.many(requests.notifyRunners, [`${force ? 'force' : 'cancel'} ${canceled.id}`]);
  });
}

async function readDeploymentLog(
  db: Queryable,
  environmentId: string,
  wanted: string | null,
): ReturnType<EnginePort['deploymentLog']> {
  const number = wanted === null ? null : executionNumber(environmentId, wanted);
  if (number === undefined) return { executionId: null, lines: [] };
  const found = await db.maybe(logs.findExecution, [environmentId, number]);
  if (found === undefined) return { executionId: null, lines: [] };
  const rows = await db.many(logs.readDeploymentLog, [found.id]);
  return {
    executionId: executionId(environmentId, found.execution_number),
    lines: rows.map(toDeploymentLine),
  };
}

function toDeploymentLine(row: logs.DeploymentLogRow): DeploymentLogLine {
  return {
    number: row.id,
    at: row.at,
    level: row.level,
    step: row.step,
    message: row.message,
    service: row.service_id === null ? null : { id: row.service_id, name: row.service_name ?? '', type: row.service_type ?? '' },
    stage: row.stage_name === null ? null : { id: row.stage_id, name: row.stage_name },
    failure: row.error,
  };
}

function toServiceLine(row: logs.ServiceLogRow): ServiceLogLine {
  const { number, id, at, message, instance } = row;
  return { number, id, at, message, instance, releaseId: row.release_id };
}

/** The counter of an execution id, or of the counter alone; undefined when it names no execution of this environment. */
function executionNumber(environmentId: string, wanted: string): number | undefined {
  const counter = wanted.startsWith(`${environmentId}-`) ? wanted.slice(environmentId.length + 1) : wanted;
  return /^\d{1,9}$/.test(counter) ? Number(counter) : undefined;
}
