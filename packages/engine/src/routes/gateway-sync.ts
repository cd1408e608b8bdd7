import { abortable } from '@davit/base';
import {
  DriverError,
  RoutesLeftOutError,
  type Backend,
  type Gateway,
  type HostCertificate,
  type HttpRoute,
  type Instance,
  type RouteTable,
  type TcpRoute,
} from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { GatewayDomains, ServedRoute } from '../port.ts';

interface ServiceRoutes {
  readonly http: readonly HttpRoute[];
  readonly tcp: readonly TcpRoute[];
}

// The first look at a cluster takes a moment; on a machine that starts everything at once, many.
const knownWithinMilliseconds = 60_000;
// The program that holds a port may have ended meanwhile, or another HAProxy been installed.
const askAgainMilliseconds = 30_000;

const noDomains: GatewayDomains = { certificates: [], challenges: [] };

interface Entry {
  readonly routes: ServiceRoutes;
  readonly plainHttp: boolean;
  readonly text: string;
}

export interface ServedService {
  readonly id: string;
  readonly config: ReleaseConfig;
  readonly instances: readonly Instance[];
  /** False while a deployment works on the service: what its steps have set stands. */
  readonly settled: boolean;
}

/** Routes of one service: each public port that the gateway carries, with the instances that serve it. */
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
        ? [{ id: port.id, listenPort: port.externalPort, backends: backendsOf(instances, port.internalPort) }]
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

function entryOf(config: ReleaseConfig, instances: readonly Instance[]): Entry {
  const routes = routesOf(config, instances);
  const plainHttp = config.options?.plainHttp === true;
  return { routes, plainHttp, text: JSON.stringify([routes, plainHttp]) };
}

function tableOf(services: ReadonlyMap<string, Entry>, domains: GatewayDomains): RouteTable {
  const http = [...services.values()].flatMap(({ routes }) => routes.http);
  const tcp = [...services.values()].flatMap(({ routes }) => routes.tcp);
  const certificates = certificatesOf(domains, http, plainHosts(services));
  return {
    http,
    tcp,
    ...(certificates.length > 0 && { certificates }),
    ...(domains.challenges.length > 0 && { challenges: domains.challenges }),
  };
}

/** Those of hosts under which somebody answers. */
function certificatesOf(
  { certificates }: GatewayDomains,
  http: readonly HttpRoute[],
  plain: ReadonlySet<string>,
): readonly HostCertificate[] {
  if (certificates.length === 0) return [];
  const served = new Set(http.flatMap(({ hosts }) => hosts));
  return certificates.flatMap((one) =>
    served.has(one.host) ? [{ ...one, redirect: one.redirect && !plain.has(one.host) }] : [],
  );
}

/** Hosts that must answer over HTTP: of services that want it, and of gRPC, whose clients follow no redirect. */
function plainHosts(services: ReadonlyMap<string, Entry>): ReadonlySet<string> {
  return new Set(
    [...services.values()].flatMap(({ routes, plainHttp }) =>
      routes.http.flatMap(({ hosts, protocol }) => (plainHttp || protocol === 'GRPC' ? hosts : [])),
    ),
  );
}

/** Without certificates that the gateway would refuse: one of them must not keep everything else from being served. */
function usable(gateway: Gateway, domains: GatewayDomains): GatewayDomains {
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

/** Without services that the gateway would refuse, so that one of them does not keep the others from being served. */
function servable(gateway: Gateway, services: Map<string, Entry>, domains: GatewayDomains): Map<string, Entry> {
  if (isServable(gateway, services, domains)) return services;
  // Most are refused for what they are themselves, which is found without comparing all with all.
  const alone = new Map([...services].filter(([, { routes }]) => isGood(gateway, routes)));
  if (isServable(gateway, alone, domains)) return alone;
  const good = new Map<string, Entry>();
  for (const [id, entry] of alone) {
    if (isServable(gateway, new Map([...good, [id, entry]]), domains)) good.set(id, entry);
  }
  return good;
}

/**
 * What the gateway serves: one entry a service, and the whole table handed over at each change. Steps of deployments and the
 * keeper both change it. The keeper's view is older than a step's, as it looks first and acts later: a change by a step makes
 * its `version` rise, and a replacement that was worked out for an earlier version is dropped.
 */
export class GatewaySync {
  readonly #gateway: Gateway;
  #services = new Map<string, Entry>();
  #loaded = false;
  readonly #whenLoaded = Promise.withResolvers<void>();
  /** Services that are served and not yet written down as such. */
  readonly #beingWritten = new Set<string>();
  #version = 0;
  /** The gateway may serve something else than this says: the last change did not reach it. */
  #isBehind = false;
  #domains: GatewayDomains | null;
  #domainsText = '';
  readonly #warn: (line: string) => void;
  /** Routes that the gateway could not serve when it applied the table last, by id. */
  #leftOut: ReadonlyMap<string, DriverError> = new Map();
  #appliedAt = 0;

  /**
   * @param waitsForDomains no route is served before the first `setDomains`.
   * @param warn receives a line when routes are left out that no step waits for.
   */
  constructor(gateway: Gateway, waitsForDomains = false, warn: (line: string) => void = () => undefined) {
    this.#gateway = gateway;
    this.#domains = waitsForDomains ? null : noDomains;
    this.#warn = warn;
  }

  get version(): number {
    return this.#version;
  }

  /** Whether requests go to one of these instances. */
  serves(instanceIds: readonly string[]): boolean {
    const ids = new Set(instanceIds);
    return [...this.#services.values()].some(({ routes }) =>
      [...routes.http, ...routes.tcp].some((route) => route.backends.some((backend) => ids.has(backend.id))),
    );
  }

  /** Whose the routes are that are served. */
  serviceByRoute(): Map<string, string> {
    const found = new Map<string, string>();
    for (const [service, { routes }] of this.#services) {
      for (const { id } of [...routes.http, ...routes.tcp]) found.set(id, service);
    }
    return found;
  }

  /** The routes of a service that are served; null: they are not known yet. */
  routesOf(serviceId: string): ServedRoute[] | null {
    if (!this.#loaded) return null;
    const routes = this.#services.get(serviceId)?.routes;
    return [...(routes?.http ?? []), ...(routes?.tcp ?? [])].flatMap(({ id, backends }) =>
      this.#leftOut.has(id) ? [] : [{ id, backends: backends.length }],
    );
  }

  /**
   * Puts a service's routes in place and resolves once they are served; repeating it changes nothing. Waits until everything that should
   * be served is known, as it is soon after a start: a change before that would remove all other routes.
   *
   * Fails with GATEWAY_FAILED or PORT_TAKEN when the gateway does not serve one of these routes. Then the former routes of the service
   * are served as before, and those of all other services are not affected.
   */
  async set(serviceId: string, config: ReleaseConfig, instances: readonly Instance[], signal: AbortSignal): Promise<void> {
    await this.#known(signal);
    const entry = entryOf(config, instances);
    // A route that the gateway would refuse is refused here, before it is among all the others: the table is one.
    this.#gateway.check(tableOf(new Map([...this.#services, [serviceId, entry]]), this.#domains ?? noDomains));
    const former = this.#services.get(serviceId);
    this.#version += 1;
    this.#services.set(serviceId, entry);
    try {
      await this.#apply();
      const failure = this.#failureOf(entry);
      if (failure !== undefined) throw failure;
    } catch (error) {
      await this.#putBack(serviceId, entry, former);
      throw error;
    }
  }

  /**
   * As `set`, then writes down that the service is served. The keeper leaves its routes alone meanwhile: whatever it read before the end of
   * `write` does not know the service as it is served now, and a new service not at all.
   */
  async setAndWrite(
    serviceId: string,
    served: Pick<ServedService, 'config' | 'instances'>,
    signal: AbortSignal,
    write: () => Promise<void>,
  ): Promise<void> {
    this.#beingWritten.add(serviceId);
    try {
      await this.set(serviceId, served.config, served.instances, signal);
      await write();
    } finally {
      this.#beingWritten.delete(serviceId);
      this.#version += 1;
    }
  }

  #failureOf({ routes }: Entry): DriverError | undefined {
    const route = [...routes.http, ...routes.tcp].find(({ id }) => this.#leftOut.has(id));
    return route === undefined ? undefined : this.#leftOut.get(route.id);
  }

  async #putBack(serviceId: string, failed: Entry, former: Entry | undefined): Promise<void> {
    // Somebody has replaced the entry meanwhile.
    if (this.#services.get(serviceId) !== failed) return;
    this.#version += 1;
    if (former === undefined) this.#services.delete(serviceId);
    else this.#services.set(serviceId, former);
    // The caller throws the first failure. After another one the gateway counts as behind, and the keeper's next look applies the table.
    await this.#apply().catch(() => undefined);
  }

  async #known(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(knownWithinMilliseconds);
    try {
      await abortable(this.#whenLoaded.promise, AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      const message = `after ${knownWithinMilliseconds / 1000} s the routes of the gateway are still being read`;
      throw new DriverError({ cause: 'GATEWAY_FAILED', message, error, retryable: true });
    }
  }

  async remove(serviceId: string): Promise<void> {
    this.#version += 1;
    if ((this.#services.delete(serviceId) || this.#isBehind) && this.#loaded) await this.#apply();
  }

  /** Makes these the only services. False: a step changed something since `version`, nothing was done; look again. */
  async replaceAll(services: readonly ServedService[], version: number): Promise<boolean> {
    if (version !== this.#version) return false;
    if (this.#domains === null) return true;
    const next = new Map<string, Entry>();
    for (const service of services) {
      const current = this.#services.get(service.id);
      if (service.settled || !this.#loaded) next.set(service.id, entryOf(service.config, service.instances));
      else if (current !== undefined) next.set(service.id, current);
    }
    for (const id of this.#beingWritten) {
      const current = this.#services.get(id);
      if (current !== undefined) next.set(id, current);
    }
    const same =
      next.size === this.#services.size && [...next].every(([id, entry]) => this.#services.get(id)?.text === entry.text);
    const asksAgain = this.#leftOut.size > 0 && performance.now() - this.#appliedAt > askAgainMilliseconds;
    if (same && this.#loaded && !this.#isBehind && !asksAgain) return true;
    this.#services = servable(this.#gateway, next, this.#domains);
    this.#loaded = true;
    this.#whenLoaded.resolve();
    await this.#apply();
    for (const [route, { message, evidence }] of this.#leftOut) {
      this.#warn(`The gateway does not serve the route ${route}: ${message} ${evidence.original ?? ''}`.trim());
    }
    return true;
  }

  /** Takes over what is known of domains now. Resolves once it is served; does nothing when it is served already. */
  async setDomains(domains: GatewayDomains): Promise<void> {
    const text = JSON.stringify(domains);
    if (text === this.#domainsText) return;
    this.#domains = usable(this.#gateway, domains);
    if (this.#loaded) await this.#apply();
    this.#domainsText = text;
  }

  awaitDrained(instanceIds: readonly string[], timeoutMilliseconds: number): Promise<void> {
    return this.#gateway.awaitDrained(instanceIds, timeoutMilliseconds);
  }

  /** Resolves when the gateway serves the table, or all of it but the routes that `#leftOut` then names. */
  async #apply(): Promise<void> {
    const table = tableOf(this.#services, this.#domains ?? noDomains);
    this.#appliedAt = performance.now();
    try {
      await this.#gateway.apply(table);
      this.#leftOut = new Map();
      this.#isBehind = false;
    } catch (error) {
      this.#isBehind = !(error instanceof RoutesLeftOutError);
      if (!(error instanceof RoutesLeftOutError)) throw error;
      this.#leftOut = error.failures;
    }
  }
}
