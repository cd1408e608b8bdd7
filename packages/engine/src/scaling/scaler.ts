import { abortable, Loop } from '@davit/base';
import type { CallContext, ClusterDescription, Workload } from '@davit/drivers';
import type { Keeper } from '../keeper/keeper.ts';
import type { Pass } from '../metrics/meter.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { isTransient } from '../shared/retry-policy.ts';
import { deployedWorkload } from '../workload/deployed-workload.ts';
import { ownerOf } from '../workload/owner.ts';
import { toFailure } from '../shared/failure.ts';
import { Semaphore } from '../shared/semaphore.ts';
import { setRestartPolicy } from '../workload/restart-policy.ts';
import { writeServiceLine } from '../output/service-line.ts';
import * as store from '../store/scaling.ts';
import { terminationGrace } from '../workload/workload.ts';
import { ClusterNumbers } from './cluster-numbers.ts';
import { scalingObstacle } from './instances.ts';
import { decide, type InstanceLoad, type ScalingMemory } from './decide.ts';

/*
 * Adds and removes instances of services as needed. The scaler looks after each pass of the meter, so the one process
 * that measures also decides. Each change compares the row with its former content: a process that no longer decides
 * but does not know it yet changes nothing.
 *
 * The row of a service has two numbers: the wanted number and the settled number, which was reached last.
 *
 * - More instances: the new instances are started and become ready. Then both numbers are set equal, and the keeper
 *   sends requests to the new instances.
 * - Fewer instances: as soon as the wanted number is written, the keeper removes the last instances from the gateway.
 *   Their requests end, they stop, then both numbers are set equal.
 *
 * A process that finds different numbers resumes the change, so a process may die at any point.
 *
 * If the cluster decides (`cluster-numbers.ts`), its number replaces Davit's decision, and the scaler also looks when
 * that number changes. Everything else is the same.
 *
 * Deployments take precedence. Nothing begins while a deployment runs in the environment, a change under way is
 * aborted, and the deployment decides with how many instances it begins.
 */

const atOnce = 4;
const describeEveryMilliseconds = 300_000;
const watchEveryMilliseconds = 1_000;
/**
 * Milliseconds without a further attempt after instances did not become ready, because they would not a moment later
 * either.
 */
const pauseAfterFailureMilliseconds = 300_000;
const looksForGateway = 3;

export class Scaler {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #keeper: Keeper;
  readonly #slots = new Semaphore(atOnce);
  readonly #memory = new Map<string, ScalingMemory>();
  readonly #pausedUntil = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #stop = new AbortController();
  readonly #numbers: ClusterNumbers;
  readonly #loop: Loop;
  /** The newest pass. */
  #pass: Pass | null = null;
  /** The pass that was used for a decision last. */
  #decided: Pass | null = null;
  #described: { readonly at: number; readonly cluster: ClusterDescription } | null = null;

  constructor(parts: EngineParts, driver: string, keeper: Keeper) {
    this.#parts = parts;
    this.#driver = driver;
    this.#keeper = keeper;
    this.#numbers = new ClusterNumbers(parts, driver, () => this.#lookAgain());
    this.#loop = new Loop({
      look: () => this.#look(),
      onError: (error) => {
        if (!this.#stop.signal.aborted) parts.log.warn({ err: error }, 'services could not be scaled');
      },
    });
  }

  /** Aborts all changes at once. The next process that decides resumes them. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop.stop();
    await this.#numbers.stop();
    await Promise.all(this.#underWay.values());
  }

  /**
   * Decides on the results of a pass. Never rejects, and does not wait for the changes that it starts. A pass that
   * arrives during a look is ignored, because it does not include the effect of that look's decisions.
   */
  look(pass: Pass): void {
    if (this.#loop.isLooking) return;
    this.#pass = pass;
    void this.#loop.wake();
  }

  /** Looks again as soon as possible with the last measurements, as long as this process decides. */
  #lookAgain(): void {
    if (this.#pass !== null) void this.#loop.wake();
  }

  async #look(): Promise<void> {
    const pass = this.#pass;
    if (pass === null) return;
    // Each pass is used for one decision only, because it does not include the effect of that decision.
    const isNew = pass !== this.#decided;
    if (!isNew && pass.signal.aborted) return;
    this.#decided = pass;
    const rows = await this.#parts.database.many(store.scaledServices, [this.#driver, null]);
    const services = new Set(rows.map((row) => row.service_id));
    const numbers = await this.#numbers.read(rows, AbortSignal.any([this.#stop.signal, pass.signal]));
    for (const row of rows) {
      const { service_id: id, instances, settled_instances: settled } = row;
      if (this.#underWay.has(id)) continue;
      const wanted = numbers.get(id);
      const decides = async (): Promise<boolean> => isNew && (await this.#decides(row, pass));
      if (instances !== settled || (await (wanted === undefined ? decides() : this.#follows(row, wanted))))
        this.#begin(id, pass.signal);
    }
    // A service that is being deployed is missing in `rows`. Its memory must still exist after the deployment.
    if (this.#memory.size > 2 * services.size + 100) {
      for (const id of this.#memory.keys()) if (!services.has(id)) this.#memory.delete(id);
    }
  }

  /**
   * Takes the number that the cluster wants; null if the cluster has not decided yet. Returns whether the wanted number
   * was changed.
   */
  async #follows(row: store.ScaledRow, wanted: number | null): Promise<boolean> {
    if (wanted === null || wanted === row.instances) return false;
    if (wanted > row.instances && (this.#pausedUntil.get(row.service_id) ?? 0) > performance.now()) return false;
    const by = row.config.scaling?.events === undefined ? 'HorizontalPodAutoscaler' : 'ScaledObject';
    return this.#write(row, { count: wanted, reason: `the cluster wants ${wanted} (its ${by} says why)` });
  }

  /** Decides on a service. Returns whether the wanted number was changed. */
  async #decides(row: store.ScaledRow, pass: Pass): Promise<boolean> {
    const { scaling, instances: least, cpuMillicores, memoryMiB } = row.config;
    if (
      scaling === undefined ||
      scalingObstacle(row.config) !== null ||
      (this.#pausedUntil.get(row.service_id) ?? 0) > performance.now()
    )
      return false;
    const { metricsSeconds, scaleDownSeconds } = this.#parts.settings;
    const loads = pass.samples
      .filter(({ service, rollout }) => service === row.service_id && rollout === row.rollout)
      .map((sample): InstanceLoad => ({
        ageSeconds: sample.ageSeconds,
        cpuMillicores: sample.cpuMillicores,
        memoryMiB: sample.memoryBytes / 1024 / 1024,
      }));
    const decision = decide({
      now: Date.now(),
      current: row.instances,
      loads,
      limits: { ...scaling, min: least, max: scaling.most, cpuMillicores, memoryMiB },
      capacity: await this.#capacity(row, pass),
      pace: { warmUpSeconds: 2 * metricsSeconds, scaleDownSeconds },
      memory: this.#memory.get(row.service_id),
    });
    this.#memory.set(row.service_id, decision.memory);
    if (decision.count === row.instances) return false;
    return this.#write(row, decision);
  }

  /** Returns how many instances of the service the cluster can hold, by its size and by its current memory usage. */
  async #capacity({ instances, config }: store.ScaledRow, { samples }: Pass): Promise<number> {
    const cluster = await this.#describe();
    const usedMiB = samples.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) / 1024 / 1024;
    const free = Math.max(0, Math.floor((cluster.memoryMiB - usedMiB) / config.memoryMiB));
    return Math.max(1, Math.min(Math.floor(cluster.cpuMillicores / config.cpuMillicores), instances + free));
  }

  async #describe(): Promise<ClusterDescription> {
    if (this.#described === null || performance.now() - this.#described.at > describeEveryMilliseconds) {
      const { cluster } = driversOf(this.#parts, this.#driver);
      this.#described = { at: performance.now(), cluster: await cluster.describe(this.#stop.signal) };
    }
    return this.#described.cluster;
  }

  /** Stores the decision, and writes it into the log of the service. */
  async #write(row: store.ScaledRow, { count, reason }: { readonly count: number; readonly reason: string }): Promise<boolean> {
    const { service_id: id, instances: from, rollout, config } = row;
    const done = await this.#parts.database.transaction(async (tx) => {
      if ((await tx.maybe(store.beginScaling, [id, rollout, from, count])) === undefined) return false;
      await tx.run(store.insertScaling, [id, from, count, reason]);
      return true;
    });
    if (!done) return false;
    this.#parts.log.info({ service: id, from, to: count, reason }, `${config.name} is scaled`);
    await this.#logToService(row, `From ${from} to ${count} ${count === 1 ? 'instance' : 'instances'}: ${reason}.`);
    return true;
  }

  #begin(serviceId: string, leads: AbortSignal): void {
    let isReached = false;
    const done = this.#slots
      .use(async () => {
        isReached = await this.#scale(serviceId, leads);
      })
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted && !leads.aborted) {
          this.#parts.log.warn({ err: error, service: serviceId }, 'a service could not be scaled; trying again');
        }
      })
      .finally(() => {
        this.#underWay.delete(serviceId);
        if (isReached) this.#lookAgain();
      });
    this.#underWay.set(serviceId, done);
  }

  /** Executes the change of a service. Returns whether the number was reached. */
  async #scale(serviceId: string, leads: AbortSignal): Promise<boolean> {
    const row = await this.#read(serviceId);
    if (row === undefined || row.instances === row.settled_instances) return false;
    const abort = new AbortController();
    const timer = setInterval(() => void this.#letGoWhenDeployed(row, abort), watchEveryMilliseconds);
    const signal = AbortSignal.any([this.#stop.signal, leads, abort.signal]);
    const call: CallContext = { signal, log: (line) => this.#parts.log.info({ service: serviceId }, line) };
    try {
      return await (row.instances > row.settled_instances ? this.#add(row, call) : this.#takeAway(row, call));
    } catch (error) {
      if (!signal.aborted) throw error;
      return false;
    } finally {
      clearInterval(timer);
    }
  }

  async #read(serviceId: string): Promise<store.ScaledRow | undefined> {
    return this.#parts.database.maybe(store.scaledServices, [this.#driver, serviceId]);
  }

  /** Returns whether the row of the service is unchanged. */
  async #isStill({ service_id, rollout, instances, settled_instances }: store.ScaledRow): Promise<boolean> {
    const now = await this.#read(service_id);
    return now?.rollout === rollout && now.instances === instances && now.settled_instances === settled_instances;
  }

  async #letGoWhenDeployed(row: store.ScaledRow, abort: AbortController): Promise<void> {
    // An unreachable database ends the work at its next statement.
    if (!(await this.#isStill(row).catch(() => true))) abort.abort(new Error('a deployment goes first'));
  }

  async #add(row: store.ScaledRow, call: CallContext): Promise<boolean> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    const { database } = this.#parts;
    try {
      const workload = await this.#workload(row);
      await cluster.start(workload, call);
      await setRestartPolicy(this.#parts, this.#driver, await cluster.awaitReady(workload, call), call);
    } catch (error) {
      if (call.signal.aborted || isTransient(error, { unreachableCluster: true })) throw error;
      await this.#giveUp(row, error, call);
      return false;
    }
    if ((await database.maybe(store.settleScaling, [row.service_id, row.rollout, row.instances])) === undefined) return false;
    await this.#keeper.look();
    return true;
  }

  /**
   * Gives up adding instances. The serving instances continue. The new instances are removed before the number is
   * reset, so that the keeper does not keep them.
   */
  async #giveUp(row: store.ScaledRow, error: unknown, call: CallContext): Promise<void> {
    const { service_id: id, rollout, instances, settled_instances: settled } = row;
    const failure = toFailure(error, id);
    if (failure.code === 'INTERNAL') this.#parts.log.error({ err: error, service: id }, 'a service could not be scaled');
    this.#pausedUntil.set(id, performance.now() + pauseAfterFailureMilliseconds);
    // Another process may have finished adding these instances. Then they serve and must not be removed.
    if (!(await this.#isStill(row))) return;
    const { cluster } = driversOf(this.#parts, this.#driver);
    await cluster.retire({ service: id, rollout, fromIndex: settled }, terminationGrace(row.config, this.#parts.settings), call);
    const reason = `the new instances did not become ready (${failure.code})`;
    const done = await this.#parts.database.transaction(async (tx) => {
      if ((await tx.maybe(store.giveUpScaling, [id, rollout, instances])) === undefined) return false;
      await tx.run(store.insertScaling, [id, instances, settled, reason]);
      return true;
    });
    if (done) await this.#logToService(row, `Back from ${instances} to ${settled}: ${reason}. ${failure.message}`);
  }

  async #takeAway(row: store.ScaledRow, call: CallContext): Promise<boolean> {
    const { settings, database, gateways } = this.#parts;
    const { cluster } = driversOf(this.#parts, this.#driver);
    const { service_id: service, rollout, instances } = row;
    const leaving = { service, rollout, fromIndex: instances };
    const ids = (await cluster.observe(leaving, call.signal)).map(({ id }) => id);
    const gateway = gateways[this.#driver];
    // The keeper does not change routes while a deployment runs, and looks again after a deployment has changed them.
    for (let look = 0; gateway?.serves(ids) !== false; look += 1) {
      if (look === looksForGateway) return false;
      await this.#keeper.look();
    }
    const { addresses } = cluster;
    if (addresses !== undefined) {
      const staying = (await cluster.observe({ service, rollout }, call.signal)).filter(
        ({ index, state }) => index < instances && state === 'RUNNING',
      );
      const owner = ownerOf(this.#parts, row);
      await addresses.point([{ owner, hostnames: row.config.hostnames, instances: staying }], call.signal);
    }
    await abortable(gateway.awaitDrained(ids, settings.drainSeconds * 1000), call.signal);
    if (!(await this.#isStill(row)) || gateway.serves(ids)) return false;
    await cluster.retire(leaving, terminationGrace(row.config, settings), call);
    await database.maybe(store.settleScaling, [service, rollout, instances]);
    await this.#keeper.look();
    return true;
  }

  async #workload(row: store.ScaledRow): Promise<Workload> {
    const workload = await deployedWorkload(this.#parts, { ...row, driver: this.#driver }, true);
    return { ...workload, instances: row.instances, firstInstance: row.settled_instances };
  }

  async #logToService({ service_id, release_id }: store.ScaledRow, message: string): Promise<void> {
    await writeServiceLine(this.#parts, { service: service_id, release: release_id, stream: 'stdout', message });
  }
}
