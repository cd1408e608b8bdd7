import type { ChartPlace } from '@davit/drivers';
import type { RuntimeRow } from '../store/requests.ts';

/** `helm-z1a2b3c4d`: what Helm calls the release of a service, which has that name for its neighbours as well. */
export function releaseName(serviceId: string): string {
  return `helm-z${serviceId.slice(0, 8).toLowerCase()}`;
}

/** The release of a service that is deployed. */
export function placeOfRuntime(
  installation: string,
  runtime: Pick<RuntimeRow, 'service_id' | 'organization_id' | 'project_id' | 'environment_id'>,
): ChartPlace {
  const owner = {
    installation,
    organization: runtime.organization_id,
    project: runtime.project_id,
    environment: runtime.environment_id,
    service: runtime.service_id,
  };
  return { owner, release: releaseName(runtime.service_id) };
}
