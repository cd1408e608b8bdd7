import { driversOf, type EngineParts } from '../shared/parts.ts';
import { removeClusterRoutes, applyRoutes, routesOf } from './cluster-routes.ts';
import { busyEnvironments } from '../store/journal.ts';
import { readRuntimes } from '../store/requests.ts';
import { ownerOf } from '../workload/owner.ts';
import type { Attempts } from '../keeper/attempts.ts';
import type { KeptService } from '../keeper/kept-service.ts';

// Somebody else may have changed the routes on the cluster. Checking costs one request for each service.
const againAfterMilliseconds = 300_000;

/**
 * Keeps the routes of a cluster that routes requests by itself. Deployments have already set these routes, so the
 * keeper sets them once after a start, and then periodically.
 */
export class RouteKeeper {
  readonly #parts: EngineParts;
  readonly #driver: string;
  /** The routes that were last set for each service, and when. */
  readonly #led = new Map<string, { readonly text: string; readonly at: number }>();

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  /** @param settled services without a running deployment whose configuration is known. */
  async keep(settled: readonly KeptService[], attempts: Attempts, signal: AbortSignal): Promise<void> {
    if (driversOf(this.#parts, this.#driver).cluster.routes === undefined) return;
    const ids = new Set(settled.map((runtime) => runtime.service_id));
    for (const id of this.#led.keys()) if (!ids.has(id)) this.#led.delete(id);
    await Promise.all(settled.map((runtime) => this.#keepOne(runtime, attempts, signal)));
  }

  async #keepOne(runtime: KeptService, attempts: Attempts, signal: AbortSignal): Promise<void> {
    const { service_id: service, config, rollout } = runtime;
    const serves = runtime.desired === 'RUNNING' && config !== null && this.#parts.kinds.of(config).isServing && rollout !== null;
    const text = serves ? JSON.stringify([rollout, routesOf(this.#parts.kinds, service, config), config.metadata]) : '';
    const led = this.#led.get(service);
    if (led?.text === text && performance.now() - led.at < againAfterMilliseconds) return;
    await attempts.attempt(`routes of ${service}`, async () => {
      if (!(await this.#isAsSeen(runtime))) return;
      const owner = ownerOf(this.#parts, runtime);
      if (serves) await applyRoutes(this.#parts, this.#driver, { owner, rollout, config }, signal);
      else await removeClusterRoutes(this.#parts, this.#driver, owner, signal);
      this.#led.set(service, { text, at: performance.now() });
    });
  }

  /**
   * Returns whether the row of a service is unchanged. A deployment may have set the routes to another rollout since.
   */
  async #isAsSeen({ service_id: service, environment_id: environment, rollout, desired }: KeptService): Promise<boolean> {
    const { database } = this.#parts;
    const [now] = await database.many(readRuntimes, [[service]]);
    if (now === undefined || now.rollout !== rollout) return false;
    if ((now.driver === this.#driver ? now.desired : 'NONE') !== desired) return false;
    return (await database.many(busyEnvironments)).every((busy) => busy.environment_id !== environment);
  }
}
