import type { Database } from '@davit/db';
import { moveNotes } from '../clusters/leave.ts';
import { changesBetween } from '../plan/changes.ts';
import { needsHalt, planStages } from '../plan/plan.ts';
import type { DeploymentPlan, DeploymentRequest, PlannedService, ReleaseConfig } from '../port.ts';
import { firstCount, instanceCounts, scalingObstacle } from '../scaling/instances.ts';
import * as requests from '../store/requests.ts';
import { assertReleasesUsable, whatCanBeDone } from './refusals.ts';

/** Names of clusters, by the `driver` of what is on them. */
interface ClusterNames {
  nameOf(driver: string): string;
}

/** See `EnginePort.plan`. */
export async function planRequest(
  database: Database,
  request: DeploymentRequest,
  clusters: ClusterNames,
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
