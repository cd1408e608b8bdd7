import type { ReleaseConfig } from '@davit/engine/port';
import { endpointOf, type EndpointSettings } from '../shared/public-endpoint.ts';
import { shortId } from './address.ts';
import { kindOf } from './kinds/index.ts';
import type { ServiceReference } from './lock.ts';
import type { ServiceFacts } from './rows.ts';
import { isPublicRouted, type PortSpec } from './shapes/ports.ts';

/**
 * Returns the target for the CNAME record of a custom domain. The name is below the domain of the gateway, or of the
 * cluster's own ingress, and stays the same when the service or environment is renamed. The name only has to resolve;
 * no service responds under it.
 */
export function validationDomain(
  settings: EndpointSettings,
  { id, type, driver }: ServiceReference & { readonly driver: string },
): string {
  const domain = endpointOf(settings, driver)?.domain ?? settings.gatewayDomain;
  return `${kindOf(type).hostPrefix}-z${shortId(id)}.${domain}`;
}

/** Returns whether the gateway serves any port of the service by host name. */
export function hasPublicAddress({ type, spec }: ServiceFacts): boolean {
  return kindOf(type).workload(spec).ports.some(isPublicRouted);
}

/**
 * Returns the custom domains that a port responds under. These ports have them: the default port, and each port with a
 * public path that no port before it has. The member is absent if there are no domains, so that the hash of a release
 * without domains does not change.
 */
export function customHosts(
  port: PortSpec,
  { type, spec, domains }: Pick<ServiceFacts, 'type' | 'spec' | 'domains'>,
): Pick<ReleaseConfig['ports'][number], 'customHosts'> {
  if (domains.length === 0 || !isPublicRouted(port)) return {};
  const { ports } = kindOf(type).workload(spec);
  const open = ports.filter(isPublicRouted).toSorted((a, b) => Number(b.is_default) - Number(a.is_default));
  const path = (one: PortSpec): string => (one.public_path ?? '/').replace(/\/+$/, '') || '/';
  const first = open.find((one) => path(one) === path(port));
  return first === port && (port.is_default || path(port) !== '/') ? { customHosts: domains } : {};
}
