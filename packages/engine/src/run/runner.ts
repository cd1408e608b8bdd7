import { randomUUID } from 'node:crypto';
import { acquireSessionLock, heldSessionLocks, isUniqueViolation, listen, type Listener, type SessionLock } from '@davit/db';
import { lookEveryMilliseconds, type EngineParts } from '../shared/parts.ts';
import { isDatabaseAway } from '../shared/retry-policy.ts';
import * as store from '../store/journal.ts';
import type { Waiting } from './cluster-wait.ts';
import { DeploymentRun } from './deployment-run.ts';
import { LeaseLost } from './journal.ts';
import { pause } from '../shared/pause.ts';
import { Semaphore } from '../shared/semaphore.ts';

/*
 * Runs deployments. One of these works in each process that has the worker role.
 *
 * Who owns a deployment: the row names the runner and a fence, a number that rises with each change of owner. A runner is alive
 * while its session holds an advisory lock; PostgreSQL lets go of it the moment the process dies, so that another runner, or
 * this one after a restart, can take over at once and not after a time-out. Against a process that hangs with its connection
 * open there is a lease as well. Every write of a run names its fence and fails when that is no longer the row's.
 */

const renewEveryMilliseconds = 3_000;
// Notifications wake a runner; this is for the ones that a lost connection swallowed, and for runners that died.

// What interrupts a deployment so often, one after the other, will not pass by itself.
const mostInterruptions = 8;

const lockName = (runnerId: string): string => `runner ${runnerId}`;

interface Running {
  readonly fence: number;
  readonly cancel: AbortController;
  readonly force: AbortController;
  readonly abandon: AbortController;
  readonly ended: Promise<void>;
}

export class Runner {
  readonly #parts: EngineParts;
  #id = randomUUID();
  readonly #builds: Semaphore;
  readonly #running = new Map<string, Running>();
  /** Deployments of this runner whose cluster is away. They take no place, so that those of other clusters go on. */
  readonly #waiting = new Map<string, Waiting>();
  /** How often deployments of this runner were interrupted by what nobody expects. */
  readonly #interruptions = new Map<string, number>();
  #lock: SessionLock | null = null;
  #listener: Listener | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #renewTimer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #relockTimer: NodeJS.Timeout | undefined;
  #isRelocking = false;
  /** Since then the leases hold, by this machine's clock that only goes forward. */
  #renewedAt = performance.now();
  #stopping = false;
  readonly #lookEveryMilliseconds: number;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#builds = new Semaphore(parts.settings.maximumBuilds);
    this.#lookEveryMilliseconds = lookEveryMilliseconds(parts.settings);
  }

  /** Resolves once it is ready to take work; what a dead runner left is taken over right away. Where it fails it may be called again. */
  async start(): Promise<void> {
    const { connectionString, database } = this.#parts;
    await database.run(store.registerRunner, [this.#id]);
    if (this.#lock === null) {
      this.#lock = await acquireSessionLock(connectionString, lockName(this.#id));
      void this.#lock?.lost.then(() => this.#onLockLost());
    }
    this.#listener = await listen({
      connectionString,
      channels: ['davit_deployment'],
      onNotification: ({ payload }) => this.#onNotification(payload),
      onReconnect: () => this.wake(),
    });
    this.#lookTimer = setInterval(() => this.wake(), this.#lookEveryMilliseconds);
    this.#renewTimer = setInterval(() => {
      this.#renewing = this.#renew();
    }, renewEveryMilliseconds);
    this.wake();
    await this.#tellOfLaterVersions();
  }

  /** In a rolling upgrade another runner takes them; after a return to a former version nobody does, and somebody should know. */
  async #tellOfLaterVersions(): Promise<void> {
    const left = await this.#parts.database.many(store.ofLaterVersions);
    if (left.length === 0) return;
    this.#parts.log.warn(
      { deployments: left.map(({ id }) => id) },
      'deployments that a later version of Davit recorded wait for a worker of that version',
    );
  }

  /**
   * Lets go of everything at once: deployments stay as they are and go on with the next runner. What takes its time to end in order (Terraform)
   * is this one's until then, so that nobody does the same beside it.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#lookTimer);
    clearTimeout(this.#relockTimer);
    await this.#listener?.close();
    await this.#looking;
    for (const run of this.#running.values()) run.abandon.abort();
    await Promise.all([...this.#running.values()].map((run) => run.ended));
    clearInterval(this.#renewTimer);
    await this.#renewing;
    await this.#lock?.release();
  }

  /** Looks for work soon. Calls during a look lead to one more. */
  wake(): void {
    if (this.#stopping) return;
    if (this.#looking !== null) {
      this.#again = true;
      return;
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = null;
      if (this.#again) {
        this.#again = false;
        this.wake();
      }
    });
  }

  async #look(): Promise<void> {
    // Without its lock it counts as dead, and whatever it began would be taken from it.
    if (this.#isRelocking) return;
    try {
      await this.#takeUpOwn();
      await this.#takeOverOrphans();
      while (!this.#stopping && this.#running.size < this.#parts.settings.maximumDeployments) {
        const claimed = await this.#claim();
        if (claimed === undefined) break;
        this.#begin(claimed, false);
      }
    } catch (error) {
      // The database is away or restarts; the next look is in a second.
      this.#parts.log.warn({ err: error }, 'the runner could not look for deployments');
    }
  }

  async #claim(): Promise<store.ClaimedDeployment | undefined> {
    try {
      return await this.#parts.database.transaction(async (tx) => {
        const claimed = await tx.maybe(store.claimNext, [this.#id]);
        if (claimed !== undefined) await this.#parts.hooks.deploymentStarted(tx, claimed.id, claimed.action);
        return claimed;
      });
    } catch (error) {
      // Another runner took a request of the same environment in the same moment.
      if (isUniqueViolation(error, 'deployment_running')) return undefined;
      throw error;
    }
  }

  /** Nothing that is this runner's may stand still, for whatever reason it is not under way, but while its cluster is away. */
  async #takeUpOwn(): Promise<void> {
    for (const [id, { key, until }] of this.#waiting)
      if (this.#parts.clusters.awayFor(key) === 0 || Date.now() >= until) this.#waiting.delete(id);
    const underWay = [...this.#running.keys(), ...this.#waiting.keys()];
    const own = await this.#parts.database.many(store.reclaimOwn, [this.#id, underWay]);
    for (const claimed of own) {
      this.#parts.counts.deploymentTakenOver('INTERRUPTED');
      this.#begin(claimed, true);
    }
  }

  async #takeOverOrphans(): Promise<void> {
    const { database } = this.#parts;
    const others = await database.many(store.otherRunners, [this.#id]);
    if (others.length === 0) return;
    const alive = await heldSessionLocks(
      database,
      others.map((other) => lockName(other.runner_id)),
    );
    for (const other of others) {
      const dead = !alive.has(lockName(other.runner_id));
      if (!dead && !other.expired) continue;
      for (const claimed of await database.many(store.takeOver, [this.#id, other.runner_id, !dead])) {
        this.#parts.counts.deploymentTakenOver(dead ? 'RUNNER_DIED' : 'LEASE_EXPIRED');
        this.#parts.log.info({ deployment: claimed.id }, 'going on with a deployment that another runner left');
        this.#begin(claimed, true);
      }
    }
  }

  #begin(deployment: store.ClaimedDeployment, resumed: boolean): void {
    const cancel = new AbortController();
    const abandon = new AbortController();
    const force = new AbortController();
    if (deployment.cancel_requested_at !== null) cancel.abort();
    if (deployment.cancel_requested_at !== null && deployment.cancel_force) force.abort();
    const run = new DeploymentRun({
      parts: this.#parts,
      deployment,
      resumed,
      builds: this.#builds,
      cancel: cancel.signal,
      force: force.signal,
      abandon: abandon.signal,
      isLastTry: (this.#interruptions.get(deployment.id) ?? 0) >= mostInterruptions,
    });
    const ended = run
      .execute()
      .then(() => void this.#interruptions.delete(deployment.id))
      .catch((error: unknown) => this.#onAbandoned(deployment, error, { waiting: run.waiting, abandon: abandon.signal }))
      .finally(() => {
        if (this.#running.get(deployment.id)?.fence === deployment.fence) this.#running.delete(deployment.id);
        this.wake();
      });
    this.#running.set(deployment.id, { fence: deployment.fence, cancel, force, abandon, ended });
  }

  /** A run that ends without recording its end is not lost: the row still names this runner, and a later look takes it up again. */
  async #onAbandoned(
    deployment: store.ClaimedDeployment,
    error: unknown,
    { waiting, abandon }: { readonly waiting: Waiting | null; readonly abandon: AbortSignal },
  ): Promise<void> {
    if (error instanceof LeaseLost) this.#interruptions.delete(deployment.id);
    if (error instanceof LeaseLost || this.#stopping) return;
    if (waiting !== null) {
      this.#waiting.set(deployment.id, waiting);
      return;
    }
    this.#parts.log.error({ err: error, deployment: deployment.id }, 'a deployment was interrupted and will be taken up again');
    if (!isDatabaseAway(error) && !abandon.aborted)
      this.#interruptions.set(deployment.id, 1 + (this.#interruptions.get(deployment.id) ?? 0));
    // Whatever interrupted it is probably not over yet.
    await pause(this.#lookEveryMilliseconds, abandon);
  }

  #onNotification(payload: string): void {
    const [word = '', id = ''] = payload.split(' ');
    const isCancel = word === 'cancel' || word === 'force';
    if (isCancel) this.#endWaiting(id, word === 'force');
    const run = isCancel ? this.#running.get(id) : undefined;
    // In this order: what hears of the cancel sees whether it is one with force.
    if (word === 'force') run?.force.abort();
    run?.cancel.abort();
    this.wake();
  }

  /** The user does not want it to wait any more. */
  #endWaiting(id: string, forced: boolean): void {
    if (forced || this.#waiting.get(id)?.takesBack === false) this.#waiting.delete(id);
  }

  async #renew(): Promise<void> {
    // Without its lock it counts as dead, and says nothing else.
    if (this.#isRelocking) return;
    const asked = performance.now();
    // What begins while the database answers is not among the rows.
    const running = [...this.#running];
    try {
      await this.#parts.database.run(store.registerRunner, [this.#id]);
      const rows = new Map((await this.#parts.database.many(store.renewLeases, [this.#id])).map((row) => [row.id, row]));
      this.#renewedAt = asked;
      for (const { id, canceling, forced } of rows.values()) if (canceling) this.#endWaiting(id, forced);
      for (const [id, run] of running) {
        const row = rows.get(id);
        // Ended, or taken over: what it writes fails at its fence, and what it does to a cluster would be done beside its new owner.
        if (row?.fence !== run.fence) run.abandon.abort();
        if (row?.forced === true) run.force.abort();
        if (row?.canceling === true) run.cancel.abort();
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the runner could not renew its leases');
      if (performance.now() - this.#renewedAt < store.leaseSeconds * 1_000) return;
      // Others may have them by now. The next look takes up again what is still this one's.
      for (const [, run] of running) run.abandon.abort();
    }
  }

  /** Without its lock this runner counts as dead: others may take its work, so it lets go and comes back as a new one. */
  #onLockLost(): void {
    if (this.#stopping) return;
    this.#parts.log.warn({}, 'the runner lost its session with the database');
    for (const run of this.#running.values()) run.abandon.abort();
    this.#isRelocking = true;
    void this.#relock();
  }

  /**
   * Until it has a lock again, under another name: the former session may stand on at the server for as long as that does not notice that nobody
   * is there any more. What the former one had is then taken over by a look, as from any runner that died.
   */
  async #relock(): Promise<void> {
    if (this.#stopping) return;
    try {
      // A look that was under way may have begun more.
      await this.#looking;
      for (const run of this.#running.values()) run.abandon.abort();
      await Promise.all([...this.#running.values()].map((run) => run.ended));
      const id = randomUUID();
      const lock = await acquireSessionLock(this.#parts.connectionString, lockName(id));
      if (lock === null) throw new Error('somebody has the lock of a runner that is new');
      if (this.#stopping) {
        await lock.release();
        return;
      }
      this.#id = id;
      this.#lock = lock;
      this.#waiting.clear();
      this.#renewedAt = performance.now();
      this.#isRelocking = false;
      void lock.lost.then(() => this.#onLockLost());
      await this.#renew();
      this.wake();
    } catch {
      this.#relockTimer = setTimeout(() => void this.#relock(), this.#lookEveryMilliseconds);
    }
  }
}
