import type { ReleaseConfig } from '@davit/engine/port';
import type { Caller } from '../../auth/caller.ts';
import type { Deps } from '../../deps.ts';
import { notFound } from '../shared/problems.ts';
import { shortId } from './address.ts';
import { doorOf, type DoorSettings } from './front-door.ts';
import { kindOf } from './kinds/index.ts';
import type { ServiceReference } from './lock.ts';
import type { ServiceFacts } from './rows.ts';
import { isPublicRouted, type PortSpec } from './shapes/ports.ts';
import { readFacts } from './store.ts';

/** A service that the caller may see. NOT_FOUND. */
export async function visibleFacts(deps: Deps, caller: Caller, { id, type }: ServiceReference): Promise<ServiceFacts> {
  const facts = await deps.database.maybe(readFacts, [id, type, caller.organizationId]);
  if (facts === undefined) throw notFound('service');
  return facts;
}

/**
 * Where the CNAME record of a custom domain must lead: a name of the gateway, or of what leads requests to its cluster, that stays when service and environment are renamed.
 * Nothing answers under it; it is there to be resolved.
 */
export function validationDomain(
  settings: DoorSettings,
  { id, type, driver }: ServiceReference & { readonly driver: string },
): string {
  const domain = doorOf(settings, driver)?.domain ?? settings.gatewayDomain;
  return `${kindOf(type).hostPrefix}-z${shortId(id)}.${domain}`;
}

/** Whether the gateway serves anything of it by host name. */
export function hasPublicAddress({ type, spec }: ServiceFacts): boolean {
  return kindOf(type).workload(spec).ports.some(isPublicRouted);
}

/**
 * Which ports answer under the custom domains: the default one, and those with a public path that none before them has. Absent
 * where there are none, so that the hash of a release without domains stays what it was.
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
