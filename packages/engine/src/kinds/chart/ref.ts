import type { ChartRef, ClusterRoute } from '@davit/drivers';
import type { ReleaseConfig } from '../../model.ts';
import type { RuntimeRow } from '../../store/requests.ts';
import { ownerOf } from '../../workload/owner.ts';
import { chartSourceOf } from './plan.ts';

/**
 * Returns the name of a service's Helm release, for example `helm-z1a2b3c4d`. Other services also reach the service by
 * this name.
 */
export function releaseName(serviceId: string): string {
  return `helm-z${serviceId.slice(0, 8).toLowerCase()}`;
}

/** Returns the place of the Helm release of a deployed service. */
export function refOfRuntime(
  parts: { readonly settings: { readonly installation: string } },
  runtime: Pick<RuntimeRow, 'service_id' | 'organization_id' | 'project_id' | 'environment_id'>,
): ChartRef {
  return { owner: ownerOf(parts, runtime), release: releaseName(runtime.service_id) };
}

/** Returns the Service of the chart that a port is assigned to. Pure. */
export function chartTarget(serviceId: string, portId: string, config: Pick<ReleaseConfig, 'source'>): ClusterRoute['to'] {
  const port = chartSourceOf(config)?.ports.find(({ id }) => id === portId);
  const release = releaseName(serviceId);
  if (port?.service_name != null) return { release, name: port.service_name };
  return { release, selectors: Object.fromEntries((port?.service_selectors ?? []).map(({ key, value }) => [key, value])) };
}
