import { randomUUID } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Database, Queryable } from '@davit/db';
import { hashOf } from '../hash.ts';
import type { Kinds } from '../kinds/kinds.ts';
import type { DeploymentRequest, EnginePort, RequestedService } from '../port.ts';
import * as requests from '../store/requests.ts';
import { assertReleasesUsable, whatCanBeDone } from './refusals.ts';

/** See `EnginePort.request`. */
export async function queueRequest(kinds: Kinds, tx: Queryable, request: DeploymentRequest): ReturnType<EnginePort['request']> {
  const { environment, trigger, mergeKey = '' } = request;
  await tx.many(requests.lockQueue, [environment.environmentId]);
  const services = await whatCanBeDone(kinds, tx, request);
  await assertReleasesUsable(kinds, tx, services);
  const ids = services.map((service) => service.serviceId);
  // An explicitly requested run happens once for each request.
  const isForced = services.some((service) => service.event !== undefined);
  const waiting = isForced
    ? undefined
    : await tx.maybe(requests.findMergeable, [
        environment.environmentId,
        trigger.actor,
        request.action,
        ids,
        environment.clusterId,
        environment.driver,
        mergeKey,
      ]);
  const deploymentId = waiting?.id ?? randomUUID();
  if (waiting === undefined) {
    await tx.run(requests.insertDeployment, [
      deploymentId,
      environment.organizationId,
      environment.projectId,
      environment.environmentId,
      environment.clusterId,
      environment.driver,
      request.action,
      request.wholeEnvironment,
      trigger.origin,
      trigger.triggeredBy,
      trigger.actor,
      mergeKey,
    ]);
  } else {
    await tx.run(requests.join, [deploymentId, request.wholeEnvironment]);
  }
  await writeServices(tx, request, services, deploymentId);
  await tx.many(requests.notifyRunners, ['queued']);
  return { deploymentId, merged: waiting !== undefined };
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
    const { organizationId, environmentId } = request.environment;
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
  await tx.run(requests.insertServices, [deploymentId, JSON.stringify(entries), randomUUID()]);
}

function releaseIdOf(service: RequestedService): string | null {
  if (service.release === undefined) return null;
  return 'releaseId' in service.release ? service.release.releaseId : randomUUID();
}

/** See `EnginePort.withdraw`. */
export async function withdraw(database: Database, deploymentId: string): Promise<void> {
  await database.transaction(async (tx) => {
    // Before the row of the request, as everywhere.
    await tx.many(requests.lockQueueOf, [deploymentId]);
    if ((await tx.maybe(requests.withdrawRequest, [deploymentId])) !== undefined) {
      // The next request in the queue may be able to start now.
      await tx.many(requests.notifyRunners, ['withdrawn']);
      return;
    }
    const ids = await tx.maybe(requests.readRequestIds, [deploymentId]);
    if (ids === undefined || ids.status === 'WITHDRAWN') {
      throw new AppError({ code: 'NOT_FOUND', message: 'There is no such deployment request in the queue.' });
    }
    throw new AppError({
      code: 'ALREADY_STARTED',
      message:
        'This deployment has left the queue. Cancel it with POST /environment/{environmentId}/cancelDeployment while it runs.',
    });
  });
}

/** See `EnginePort.cancel`. */
export async function cancel(database: Database, environmentId: string, force: boolean): Promise<void> {
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
