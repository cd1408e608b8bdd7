import { abortable } from '@davit/base';
import { DriverError, RouteClaims, RoutesLeftOutError, type Gateway, type Instance } from '@davit/drivers';
import type { ReleaseConfig } from '../model.ts';
import type { GatewayDomains, ServedRoute } from '../port.ts';
import { entryOf, isWildcard, noDomains, servable, tableOf, usable, type Entry } from './gateway-table.ts';

// The first look at a cluster takes a moment; on a machine that starts everything at once, many moments.
const knownWithinMilliseconds = 60_000;
// The program that holds a port may have exited meanwhile, or another HAProxy may have been installed.
const askAgainMilliseconds = 30_000;

export interface ServedService {
  readonly id: string;
  readonly config: ReleaseConfig;
  readonly instances: readonly Instance[];
  /** False while a deployment works on the service. The routes that its steps have set are then kept. */
  readonly settled: boolean;
}

/**
 * The routes that the gateway serves: one entry for each service. Each change hands the whole table to the gateway.
 * Both the steps of deployments and the keeper change it. The view of the keeper may be older than that of a step,
 * because the keeper looks first and acts later: each change by a step increases `version`, and a replacement that was
 * computed for an earlier version is dropped.
 */
export class GatewaySync {
  readonly #gateway: Gateway;
  #services = new Map<string, Entry>();
  /** The claims of the routes of all services. */
  #claims = new RouteClaims();
  #loaded = false;
  readonly #whenLoaded = Promise.withResolvers<void>();
  /** Services that are served but not yet stored as such. */
  readonly #beingWritten = new Set<string>();
  #version = 0;
  /** Whether the last change failed to reach the gateway, which may then serve a different table. */
  #isBehind = false;
  #domains: GatewayDomains | null;
  #domainsText = '';
  readonly #warn: (line: string) => void;
  /** Routes that the gateway could not serve when it last applied the table, by id. */
  #leftOut: ReadonlyMap<string, DriverError> = new Map();
  #appliedAt = 0;

  /**
   * @param waitsForDomains no route is served before the first `setDomains`.
   * @param warn receives a line if routes are left out that no step waits for.
   */
  constructor(gateway: Gateway, waitsForDomains = false, warn: (line: string) => void = () => undefined) {
    this.#gateway = gateway;
    this.#domains = waitsForDomains ? null : noDomains;
    this.#warn = warn;
  }

  get version(): number {
    return this.#version;
  }

  /** Returns whether requests are sent to one of these instances. */
  serves(instanceIds: readonly string[]): boolean {
    const ids = new Set(instanceIds);
    return [...this.#services.values()].some(({ routes }) =>
      [...routes.http, ...routes.tcp].some((route) => route.backends.some((backend) => ids.has(backend.id))),
    );
  }

  /** Returns the service of each served route. */
  serviceByRoute(): Map<string, string> {
    const found = new Map<string, string>();
    for (const [service, { routes }] of this.#services) {
      for (const { id } of [...routes.http, ...routes.tcp]) found.set(id, service);
    }
    return found;
  }

  /** Returns the routes of a service that are served; null if they are not known yet. */
  routesOf(serviceId: string): ServedRoute[] | null {
    if (!this.#loaded) return null;
    const routes = this.#services.get(serviceId)?.routes;
    return [...(routes?.http ?? []), ...(routes?.tcp ?? [])].flatMap(({ id, backends }) =>
      this.#leftOut.has(id) ? [] : [{ id, backends: backends.length }],
    );
  }

  /**
   * Sets the routes of a service, and resolves once they are served. A repetition changes nothing. Waits until all
   * routes that should be served are known, which is soon after a start: an earlier change would remove all other
   * routes.
   *
   * Fails with GATEWAY_FAILED or PORT_TAKEN if the gateway does not serve one of these routes. The former routes of the
   * service are then served as before, and other services are not affected.
   */
  async set(serviceId: string, config: ReleaseConfig, instances: readonly Instance[], signal: AbortSignal): Promise<void> {
    await this.#known(signal);
    const entry = entryOf(config, instances);
    // A route that the gateway would refuse is refused here, before it is part of the table, because there is only one
    // table for all services.
    this.#gateway.check(entry.routes);
    const former = this.#services.get(serviceId);
    this.#put(serviceId, entry);
    this.#version += 1;
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
   * Sets the routes of a service like `set`, then stores by `write` that the service is served. The keeper does not
   * change the routes of the service meanwhile: whatever it read before `write` ended has an old state of the service,
   * or none if the service is new.
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
    // Another call has replaced the entry meanwhile.
    if (this.#services.get(serviceId) !== failed) return;
    this.#version += 1;
    this.#put(serviceId, former);
    // The caller throws the first failure. If this call fails too, the gateway counts as behind, and the next look of
    // the keeper applies the table.
    await this.#apply().catch(() => undefined);
  }

  async #known(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(knownWithinMilliseconds);
    try {
      await abortable(this.#whenLoaded.promise, AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      const message = `after ${knownWithinMilliseconds / 1000} s the routes of the gateway have not been read`;
      throw new DriverError({ cause: 'GATEWAY_FAILED', message, error, retryable: true });
    }
  }

  async remove(serviceId: string): Promise<void> {
    this.#version += 1;
    const wasServed = this.#services.has(serviceId);
    this.#put(serviceId, undefined);
    if ((wasServed || this.#isBehind) && this.#loaded) await this.#apply();
  }

  /** Replaces the entry of a service; undefined removes it. Fails if another service claims the same. */
  #put(serviceId: string, entry: Entry | undefined): void {
    const former = this.#services.get(serviceId);
    if (former !== undefined) this.#claims.delete(former.routes);
    try {
      if (entry !== undefined) this.#claims.add(entry.routes);
    } catch (error) {
      if (former !== undefined) this.#claims.add(former.routes);
      throw error;
    }
    if (entry === undefined) this.#services.delete(serviceId);
    else this.#services.set(serviceId, entry);
  }

  /**
   * Replaces all services. Returns false and does nothing if a step has changed something since `version`; the caller
   * must look again.
   */
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
    this.#claims = new RouteClaims();
    for (const { routes } of this.#services.values()) this.#claims.add(routes);
    this.#loaded = true;
    this.#whenLoaded.resolve();
    await this.#apply();
    for (const [route, { message, evidence }] of this.#leftOut) {
      this.#warn(`The gateway does not serve the route ${route}: ${message} ${evidence.original ?? ''}`.trim());
    }
    return true;
  }

  /** Sets certificates and challenges. Resolves once they are served; does nothing if they are already served. */
  async setDomains(domains: GatewayDomains): Promise<void> {
    const text = JSON.stringify(domains);
    if (text === this.#domainsText) return;
    this.#domains = usable(this.#gateway, domains);
    if (this.#loaded) await this.#apply();
    else await this.#applyOwn(this.#domains);
    this.#domainsText = text;
  }

  /**
   * Serves Davit's own certificates and all challenges before the routes of services are known. They are known only
   * once the container engine has answered, and the API must be reachable without it.
   */
  async #applyOwn({ certificates, challenges }: GatewayDomains): Promise<void> {
    const own = certificates.flatMap(({ host, pem, redirect, isOwn }) =>
      isOwn === true ? [{ host, pem, redirect: redirect && !isWildcard(host) }] : [],
    );
    if (own.length > 0 || challenges.length > 0) await this.#gateway.applyDomains?.({ certificates: own, challenges });
  }

  awaitDrained(instanceIds: readonly string[], timeoutMilliseconds: number): Promise<void> {
    return this.#gateway.awaitDrained(instanceIds, timeoutMilliseconds);
  }

  /** Resolves when the gateway serves the table. Routes that it could not serve are then in `#leftOut`. */
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
