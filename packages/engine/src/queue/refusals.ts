import { AppError } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { KnownKinds, Refusal } from '../kinds/traits.ts';
import type { DeploymentRequest, RequestedService } from '../port.ts';
import { pinnedName } from '../workload/registry-image.ts';
import * as requests from '../store/requests.ts';

/**
 * Returns the services that the action can be done to. RESTART and STOP require a service that ran before. A request
 * for single services fails otherwise; a request for an environment skips the others.
 */
export async function whatCanBeDone(
  kinds: KnownKinds,
  tx: Queryable,
  request: DeploymentRequest,
): Promise<readonly RequestedService[]> {
  if (request.action !== 'RESTART' && request.action !== 'STOP') return request.services;
  const refusalOf = ({ serviceType }: RequestedService): Refusal | undefined =>
    kinds.ofService(serviceType).refusals[request.action];
  for (const service of request.services) {
    const refusal = refusalOf(service);
    if (refusal !== undefined && !(refusal.isLeftOut && request.wholeEnvironment))
      throw new AppError({ code: 'NOT_SUPPORTED', message: `${service.name} ${refusal.reason}` });
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
  return request.services.filter((service) => deployed.has(service.serviceId) && refusalOf(service) === undefined);
}

/** Fails with NOT_FOUND, or with RELEASE_NOT_USABLE if a requested earlier release can no longer be deployed. */
export async function assertReleasesUsable(
  kinds: KnownKinds,
  tx: Queryable,
  services: readonly RequestedService[],
): Promise<void> {
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
    const { isRedeployedWithoutImage } = kinds.ofService(service.serviceType);
    if (!isRedeployedWithoutImage && release.image_id === null && pinnedName(release.image_name) === null) {
      throw new AppError({
        code: 'RELEASE_NOT_USABLE',
        message: `release ${releaseId} of ${service.name} has no image: it was never built, or it is older than the releases whose images are kept (DAVIT_KEPT_RELEASES). Choose a newer one, or deploy its commit.`,
      });
    }
  }
}
