import type { operations, Response, ServiceType } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { ReleaseConfig } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import { currentRelease, currentReleases } from '../../composition.ts';
import { endpointOfHost, httpsUrl, urlAt } from '../../../shared/public-endpoint.ts';
import type { ServiceReference } from '../../lock.ts';
import type { ReleaseSettings } from '../../release.ts';
import { readEnvironmentFacts, readSecuredHosts } from '../../store.ts';
import { readVisibleFacts } from '../../visible.ts';
import { typeWord } from '../history/history.ts';

export type LinksRecord = Response<(typeof operations)['listApplicationLinks']>;
type LinkRecord = LinksRecord['results'][number];

/**
 * Returns the addresses of a service: those of the deployed release or, before the first deployment, those of the
 * current configuration.
 */
export async function readLinks(
  deps: Needs<'database' | 'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>,
  caller: Caller,
  { id, type }: ServiceReference,
): Promise<LinksRecord> {
  const facts = await readVisibleFacts(deps.database, caller, { id, type });
  const deployed = await deps.engine.deployedConfig(deps.database, id);
  const config = deployed ?? (await currentRelease(deps, deps.database, facts)).config;
  const secured = await securedHosts(deps, deps.database, [config.ports]);
  return { results: toLinks({ id, type: typeWord(facts.type) }, config.ports, { ...deps.config, secured }) };
}

/**
 * Returns the addresses of all services of an environment, in the order of deployment. The caller must have checked
 * access.
 */
export async function environmentLinks(
  deps: Needs<'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>,
  db: Queryable,
  environmentId: string,
): Promise<LinksRecord> {
  const services = await db.many(readEnvironmentFacts, [environmentId]);
  const releases = await currentReleases(deps, db, environmentId, services);
  const deployed = await deps.engine.deployedConfigs(
    db,
    services.map(({ id }) => id),
  );
  const known = services.flatMap((facts, index) => {
    const config = deployed.get(facts.id) ?? releases[index]?.config;
    return config === undefined ? [] : [{ facts, ports: config.ports }];
  });
  const secured = await securedHosts(
    deps,
    db,
    known.map(({ ports }) => ports),
  );
  const results = known.flatMap(({ facts, ports }) =>
    toLinks({ id: facts.id, type: typeWord(facts.type) }, ports, { ...deps.config, secured }),
  );
  return { results };
}

/** Returns the hosts of these ports that respond over HTTPS, and wildcards above them. */
export async function securedHosts(
  { config }: Needs<never, 'gatewayHttpsPort'>,
  db: Queryable,
  services: readonly ReleaseConfig['ports'][],
): Promise<ReadonlySet<string>> {
  const ports = services.flat();
  const own = ports.flatMap((port) => port.hosts);
  const hosts = [...own, ...new Set(own.map(wildcardAbove)), ...ports.flatMap((port) => port.customHosts ?? [])];
  if (config.gatewayHttpsPort === null || hosts.length === 0) return new Set();
  return new Set((await db.many(readSecuredHosts, [hosts])).map(({ host }) => host));
}

function wildcardAbove(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`;
}

interface LinkSettings extends ReleaseSettings {
  readonly gatewayHttpsPort: number | null;
  readonly secured: ReadonlySet<string>;
}

export function toLinks(
  service: { readonly id: string; readonly type: ServiceType },
  ports: ReleaseConfig['ports'],
  settings: LinkSettings,
): LinkRecord[] {
  const common = { service_id: service.id, service_type: service.type, is_service_domain: true };
  return ports
    .filter((port) => port.public)
    .flatMap((port): LinkRecord[] => {
      const own = { ...common, internal_port: port.internalPort, is_default: port.isDefault };
      if (port.externalPort !== null) {
        const scheme = port.protocol.toLowerCase();
        const url = `${scheme}://${settings.gatewayDomain}:${port.externalPort}`;
        return [{ ...own, url, external_port: port.externalPort }];
      }
      const [first] = port.hosts;
      // The port is not reachable from outside the cluster.
      if (first === undefined) return [];
      const endpoint = endpointOfHost(settings, first);
      const link = (host: string, is_service_domain: boolean): LinkRecord => ({
        ...own,
        is_service_domain,
        url: urlAt(endpoint, host, port.pathPrefix),
        external_port: endpoint.port,
      });
      const hasGateway = endpoint.domain === settings.gatewayDomain;
      const secured = (host: string, is_service_domain: boolean): LinkRecord => {
        const isSecured = settings.secured.has(host) || (is_service_domain && settings.secured.has(wildcardAbove(host)));
        const httpsPort = hasGateway && isSecured ? settings.gatewayHttpsPort : null;
        if (httpsPort === null) return link(host, is_service_domain);
        const url = httpsUrl(host, httpsPort, port.pathPrefix);
        return { ...link(host, is_service_domain), url, external_port: httpsPort };
      };
      return [...port.hosts.map((host) => secured(host, true)), ...(port.customHosts ?? []).map((host) => secured(host, false))];
    });
}
