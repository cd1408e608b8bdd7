import type { Backend, Gateway, HostCertificate, HttpRoute, Instance, RouteTable, TcpRoute } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { GatewayDomains } from '../port.ts';

/*
 * Computes the gateway's table from releases, instances and domains. Pure, but for asking the gateway what it accepts.
 */

interface ServiceRoutes {
  readonly http: readonly HttpRoute[];
  readonly tcp: readonly TcpRoute[];
}

export const noDomains: GatewayDomains = { certificates: [], challenges: [] };

/** The part of the table that belongs to one service. */
export interface Entry {
  readonly routes: ServiceRoutes;
  /** Host names at which TCP ports accept TLS with a certificate of their own. */
  readonly tlsHosts: readonly string[];
  /** Whether the service asks for HTTP without a redirect to HTTPS. */
  readonly plainHttp: boolean;
  /** Routes and options in one text, to compare entries. */
  readonly text: string;
}

/** Returns the routes of one service: each public port that the gateway serves, with its instances. */
function routesOf(config: ReleaseConfig, instances: readonly Instance[]): ServiceRoutes {
  const open = config.ports.filter((port) => port.public);
  return {
    http: open.flatMap((port): HttpRoute[] =>
      (port.protocol === 'HTTP' || port.protocol === 'GRPC') && port.hosts.length > 0
        ? [
            {
              id: port.id,
              hosts: [...port.hosts, ...(port.customHosts ?? [])],
              pathPrefix: port.pathPrefix,
              pathRewrite: port.pathRewrite,
              protocol: port.protocol,
              backends: backendsOf(instances, port.internalPort),
              ...optionsOf(config, port.protocol),
            },
          ]
        : [],
    ),
    tcp: open.flatMap((port): TcpRoute[] =>
      port.protocol === 'TCP' && port.externalPort !== null
        ? [
            {
              id: port.id,
              listenPort: port.externalPort,
              backends: backendsOf(instances, port.internalPort),
              ...(port.acceptsTls === true && { acceptsTls: true as const }),
            },
          ]
        : [],
    ),
  };
}

function optionsOf({ options }: ReleaseConfig, protocol: 'HTTP' | 'GRPC'): Pick<HttpRoute, 'options'> {
  const own = protocol === 'HTTP' ? options?.gateway?.http : options?.gateway?.grpc;
  return own === undefined ? {} : { options: own };
}

function backendsOf(instances: readonly Instance[], internalPort: number): Backend[] {
  return instances.flatMap((instance) => {
    const endpoint = instance.endpoints.find((one) => one.internalPort === internalPort);
    return endpoint === undefined ? [] : [{ id: instance.id, host: endpoint.host, port: endpoint.port }];
  });
}

/** Returns the entry of one service. */
export function entryOf(config: ReleaseConfig, instances: readonly Instance[]): Entry {
  const routes = routesOf(config, instances);
  const tlsHosts = config.ports.flatMap((port) => (port.public && port.acceptsTls === true ? port.hosts : []));
  const plainHttp = config.options?.plainHttp === true;
  return { routes, tlsHosts, plainHttp, text: JSON.stringify([routes, tlsHosts, plainHttp]) };
}

/** Returns the table of all services, with the certificates and challenges that it needs. */
export function tableOf(services: ReadonlyMap<string, Entry>, domains: GatewayDomains): RouteTable {
  const http: HttpRoute[] = [];
  const tcp: TcpRoute[] = [];
  for (const { routes } of services.values()) {
    for (const route of routes.http) http.push(route);
    for (const route of routes.tcp) tcp.push(route);
  }
  const { certificates, redirects } = certificatesOf(domains, http, services);
  return {
    http,
    tcp,
    ...(certificates.length > 0 && { certificates }),
    ...(redirects.length > 0 && { redirects }),
    ...(domains.challenges.length > 0 && { challenges: domains.challenges }),
  };
}

/**
 * Returns the certificates of hosts that have a route or a TCP port with TLS and those of Davit's own hosts, and the
 * hosts below own wildcards that are redirected to HTTPS.
 */
function certificatesOf(
  { certificates }: GatewayDomains,
  http: readonly HttpRoute[],
  services: ReadonlyMap<string, Entry>,
): { readonly certificates: readonly HostCertificate[]; readonly redirects: readonly string[] } {
  if (certificates.length === 0) return { certificates: [], redirects: [] };
  const plain = plainHosts(services);
  const served = new Set(http.flatMap(({ hosts }) => hosts));
  const tlsHosts = new Set([...services.values()].flatMap((entry) => entry.tlsHosts));
  const wildcards = new Set(certificates.flatMap(({ host, isOwn }) => (isOwn === true && isWildcard(host) ? [host] : [])));
  const below = [...served].filter((host) => wildcards.has(`*${host.slice(host.indexOf('.'))}`) && !plain.has(host));
  return {
    certificates: certificates.flatMap(({ host, pem, redirect, isOwn }) => {
      if (isOwn !== true && !served.has(host)) return tlsHosts.has(host) ? [{ host, pem, redirect: false }] : [];
      return [{ host, pem, redirect: redirect && !plain.has(host) && !wildcards.has(host) }];
    }),
    redirects: below,
  };
}

/** Returns whether a certificate's host stands for all hosts one level below a domain. */
export function isWildcard(host: string): boolean {
  return host.startsWith('*.');
}

/**
 * Returns the hosts that must respond over HTTP: those of services that ask for it, and those of gRPC, whose clients
 * follow no redirect.
 */
function plainHosts(services: ReadonlyMap<string, Entry>): ReadonlySet<string> {
  return new Set(
    [...services.values()].flatMap(({ routes, plainHttp }) =>
      routes.http.flatMap(({ hosts, protocol }) => (plainHttp || protocol === 'GRPC' ? hosts : [])),
    ),
  );
}

/**
 * Returns the domains without certificates that the gateway would refuse, so that one of them does not prevent
 * everything else from being served.
 */
export function usable(gateway: Gateway, domains: GatewayDomains): GatewayDomains {
  const certificates = domains.certificates.filter((one) => isGood(gateway, { http: [], tcp: [], certificates: [one] }));
  return { ...domains, certificates };
}

function isServable(gateway: Gateway, services: ReadonlyMap<string, Entry>, domains: GatewayDomains): boolean {
  return isGood(gateway, tableOf(services, domains));
}

function isGood(gateway: Gateway, table: RouteTable): boolean {
  try {
    gateway.check(table);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the services without those that the gateway would refuse, so that one of them does not prevent the others
 * from being served.
 */
export function servable(gateway: Gateway, services: Map<string, Entry>, domains: GatewayDomains): Map<string, Entry> {
  if (isServable(gateway, services, domains)) return services;
  // Most services are refused because of their own routes, which is found without comparing all routes with each other.
  const alone = new Map([...services].filter(([, { routes }]) => isGood(gateway, routes)));
  if (isServable(gateway, alone, domains)) return alone;
  const good = new Map<string, Entry>();
  for (const [id, entry] of alone) {
    if (isServable(gateway, new Map([...good, [id, entry]]), domains)) good.set(id, entry);
  }
  return good;
}
