import type { Database } from '@davit/db';
import type { Kinds } from '../kinds/kinds.ts';
import { moveNotes } from '../former-clusters/leave-cluster.ts';
import { hashOf } from '../hash.ts';
import { changesBetween } from '../plan/changes.ts';
import { planStages } from '../plan/plan.ts';
import type { DeploymentPlan, DeploymentRequest, PlannedService, ReleaseConfig, RequestedService } from '../port.ts';
import { firstCount, instanceCounts, scalingObstacle } from '../scaling/instances.ts';
import * as requests from '../store/requests.ts';
import { imageSourceOf } from '../workload/image-source.ts';
import { needsHalt } from '../workload/needs-halt.ts';
import { assertReleasesUsable, whatCanBeDone } from './refusals.ts';

/** Looks up names of clusters, keyed by `cluster.driver`. */
interface ClusterNames {
  nameOf(driver: string): string;
}

/** See `EnginePort.plan`. */
export async function planRequest(
  database: Database,
  request: DeploymentRequest,
  { clusters, kinds }: { readonly clusters: ClusterNames; readonly kinds: Kinds },
): Promise<DeploymentPlan> {
  const services = await whatCanBeDone(kinds, database, request);
  await assertReleasesUsable(kinds, database, services);
  const ids = services.map((service) => service.serviceId);
  const runtimes = new Map((await database.many(requests.readRuntimes, [ids])).map((row) => [row.service_id, row]));
  const byId = new Map(services.map((service) => [service.serviceId, service]));
  const releases = await earlierReleases(database, services);
  const inputs = services.map((service) => {
    const wanted = service.release;
    const former = runtimes.get(service.serviceId) ?? null;
    const earlier = wanted !== undefined && 'releaseId' in wanted ? releases.get(wanted.releaseId) : undefined;
    const config = wanted !== undefined && 'config' in wanted ? wanted.config : (earlier?.config ?? former?.config ?? null);
    return {
      serviceId: service.serviceId,
      stageName: service.stage.name,
      stagePosition: service.stage.position,
      config,
      isKept: request.action === 'DEPLOY' && isKept(request, { former, config, earlier, release: wanted }),
      hasImage: wanted !== undefined && 'releaseId' in wanted,
      event: service.event ?? null,
      serviceType: service.serviceType,
    };
  });
  const configs = new Map(inputs.map((input) => [input.serviceId, input]));
  const stages = planStages(kinds, request.action, inputs).map((stage) => ({
    name: stage.name,
    services: stage.tasks.map((task): PlannedService => {
      const input = configs.get(task.serviceId);
      const former = runtimes.get(task.serviceId);
      const running = former?.desired === 'RUNNING' && former.config !== null ? instanceCounts(former, former.config).serving : 0;
      const starts = request.action === 'DEPLOY' || request.action === 'RESTART';
      const config = input?.config ?? null;
      const moves = running > 0 && request.action === 'DEPLOY' && former?.driver !== request.environment.driver;
      const isKept = input?.isKept === true;
      const downtime = running > 0 && !moves && !isKept && (!starts || (config !== null && needsHalt(config)));
      const names = [former?.driver ?? '', request.environment.driver].map((key) => clusters.nameOf(key));
      return {
        serviceId: task.serviceId,
        name: byId.get(task.serviceId)?.name ?? '',
        steps: [...task.build, ...task.deploy],
        instances: { from: running, to: starts && config !== null ? firstCount(config, former ?? null) : 0 },
        expectedDowntime: downtime,
        notes: !kinds.ofService(input?.serviceType, config).hasImage
          ? []
          : [
              ...(request.action === 'DEPLOY' ? [imageNote(config, input?.hasImage ?? false)] : []),
              ...(downtime && starts ? [haltNote] : []),
              ...(isKept && running > 0 ? [keptNote(config)] : []),
              ...(moves ? moveNotes(names[0] ?? '', names[1] ?? '', (config?.volumes.length ?? 0) > 0) : []),
              ...(starts ? scalingNotes(config) : []),
            ],
        changes: starts && config !== null ? changesBetween(former?.config ?? null, config) : [],
      };
    }),
  }));
  return { action: request.action, stages };
}

/** Returns the releases that services are rolled back to, by id. */
async function earlierReleases(
  database: Database,
  services: readonly RequestedService[],
): Promise<ReadonlyMap<string, requests.WantedReleaseRow>> {
  const ids = services.flatMap(({ release }) => (release !== undefined && 'releaseId' in release ? [release.releaseId] : []));
  return ids.length === 0
    ? new Map()
    : new Map((await database.many(requests.wantedReleases, [ids])).map((row) => [row.id, row]));
}

interface Compared {
  readonly former: requests.RuntimeRow | null;
  readonly config: ReleaseConfig | null;
  /** The release of a rollback. */
  readonly earlier: requests.WantedReleaseRow | undefined;
  readonly release: RequestedService['release'];
}

/**
 * Returns whether the running instances stay, as far as this is known before a deployment has read repositories and
 * registries. A branch may have a new commit: a built release counts as changed unless the commit is given. A tag is
 * assumed to refer to the same image as before.
 */
function isKept({ environment }: DeploymentRequest, { former, config, earlier, release }: Compared): boolean {
  if (former === null || config === null || former.desired !== 'RUNNING' || former.driver !== environment.driver) return false;
  if (former.config_hash !== (earlier?.config_hash ?? hashOf(config))) return false;
  if (earlier !== undefined) return earlier.image_id === former.image_id;
  if (imageSourceOf(config) !== null) return true;
  return release !== undefined && 'config' in release && release.commitId !== null && release.commitId === former.commit?.id;
}

function isPulled(config: ReleaseConfig | null): boolean {
  return config !== null && imageSourceOf(config) !== null;
}

function keptNote(config: ReleaseConfig | null): string {
  const kept = 'Nothing changed since the last deployment: the running instances are kept';
  return isPulled(config) ? `${kept}, unless the tag now refers to another image.` : `${kept}.`;
}

function scalingNotes(config: ReleaseConfig | null): string[] {
  const obstacle = config === null ? null : scalingObstacle(config);
  return obstacle === null ? [] : [`The number of instances is not scaled: ${obstacle}.`];
}

function imageNote(config: ReleaseConfig | null, hasImage: boolean): string {
  if (hasImage) return 'The release runs the image that it was built with; nothing is built.';
  if (isPulled(config)) return 'The image is pulled unless it already exists.';
  return 'The image is built unless one of the same commit and build settings exists.';
}

const haltNote =
  'A volume (or a public UDP port) has one user at a time: the running instances stop before the new ones start, and the service does not answer in between.';
