import type { ChartPlace } from '@davit/drivers';
import type { RuntimeRow } from '../store/requests.ts';

/**
 * Returns the name of a service's Helm release, for example `helm-z1a2b3c4d`. Other services also reach the service by
 * this name.
 */
export function releaseName(serviceId: string): string {
  return `helm-z${serviceId.slice(0, 8).toLowerCase()}`;
}

/** Returns the place of the Helm release of a deployed service. */
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
