import { randomUUID } from 'node:crypto';
import { Loop, pause } from '@davit/base';
import { acquireSessionLock, heldSessionLocks, listen, type Listener, type SessionLock } from '@davit/db';
import type { ExecutingParts } from '../kinds/kinds.ts';
import { lookEveryMilliseconds } from '../shared/parts.ts';
import { isDatabaseUnreachable } from '../shared/retry-policy.ts';
import * as store from '../store/journal.ts';
import type { Waiting } from './cluster-wait.ts';
import { DeploymentRun } from './deployment-run.ts';
import { LeaseLost } from './journal.ts';
import { Semaphore } from '../shared/semaphore.ts';

/*
 * Runs deployments. Each process that has the worker role has one runner.
 *
 * The row of a deployment names its owner: the runner and a fence, a number that increases with each change of owner.
 * A runner is alive while its session holds an advisory lock. PostgreSQL releases the lock the moment the process dies,
 * so that another runner, or this one after a restart, can take over at once instead of after a timeout. A lease
 * protects against a process that hangs with its connection open. Every write of a run names its fence, and fails when
 * the fence is no longer the row's.
 */

const renewEveryMilliseconds = 3_000;

// Each is a process of git, so their number limits the memory that they take.
const parallelLookups = 8;

// Number of consecutive interruptions after which the cause is considered permanent.
const maxInterruptions = 8;

const lockName = (runnerId: string): string => `runner ${runnerId}`;

interface Running {
  readonly fence: number;
  readonly cancel: AbortController;
  readonly force: AbortController;
  readonly abandon: AbortController;
  readonly ended: Promise<void>;
}

export class Runner {
  readonly #parts: ExecutingParts;
  #id = randomUUID();
  readonly #lookups = new Semaphore(parallelLookups);
  readonly #builds: Semaphore;
  readonly #running = new Map<string, Running>();
  /**
   * Deployments of this runner whose cluster is unreachable. They occupy no slot, so that deployments to other clusters
   * proceed.
   */
  readonly #waiting = new Map<string, Waiting>();
  /** Number of unexpected interruptions of this runner's deployments. */
  readonly #interruptions = new Map<string, number>();
  #lock: SessionLock | null = null;
  #listener: Listener | undefined;
  /** Notifications wake it. The timer covers notifications lost with a connection, and runners that died. */
  readonly #looks: Loop;
  #renewTimer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();
  #relockTimer: NodeJS.Timeout | undefined;
  #isRelocking = false;
  /** Whether a deployment of this runner, or of a dead one, may have to be resumed at once. */
  #mayHaveInterrupted = true;
  #resumedAt = 0;
  /** Time of the last renewal of the leases, on this machine's monotonic clock. */
  #renewedAt = performance.now();
  #stopping = false;
  readonly #lookEveryMilliseconds: number;

  constructor(parts: ExecutingParts) {
    this.#parts = parts;
    this.#builds = new Semaphore(parts.settings.maximumBuilds);
    this.#lookEveryMilliseconds = lookEveryMilliseconds(parts.settings);
    this.#looks = new Loop({
      look: () => this.#look(),
      everyMilliseconds: this.#lookEveryMilliseconds,
      // The database is unreachable or restarting. The next look is in a second.
      onError: (error) => parts.log.warn({ err: error }, 'the runner could not look for deployments'),
    });
  }

  /**
   * Resolves once the runner is ready to take work. Deployments of dead runners are taken over right away. May be
   * called again after a failure.
   */
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
      onReconnect: () => {
        this.#mayHaveInterrupted = true;
        this.wake();
      },
    });
    this.#looks.start();
    // No `Loop`: a renewal that hangs in a dead connection must not keep the next one from renewing the leases.
    this.#renewTimer = setInterval(() => {
      this.#renewing = this.#renew();
    }, renewEveryMilliseconds);
    this.wake();
    await this.#logLaterVersions();
  }

  /**
   * Logs deployments that a later version has recorded. In a rolling upgrade another runner executes them. After a
   * downgrade no runner does, and the operator should know.
   */
  async #logLaterVersions(): Promise<void> {
    const left = await this.#parts.database.many(store.ofLaterVersions);
    if (left.length === 0) return;
    this.#parts.log.warn(
      { deployments: left.map(({ id }) => id) },
      'deployments that a later version of Davit recorded wait for a worker of that version',
    );
  }

  /**
   * Abandons all runs at once: the deployments stay as they are, and the next runner resumes them. This runner keeps
   * the lease of work that takes time to end cleanly (Terraform) until its end, so that no other runner does the same
   * work meanwhile.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    const looksEnded = this.#looks.stop();
    clearTimeout(this.#relockTimer);
    await this.#listener?.close();
    await looksEnded;
    for (const run of this.#running.values()) run.abandon.abort();
    await Promise.all([...this.#running.values()].map((run) => run.ended));
    clearInterval(this.#renewTimer);
    await this.#renewing;
    await this.#lock?.release();
  }

  /** Looks for work soon. Calls during a look cause one more look. */
  wake(): void {
    void this.#looks.wake();
  }

  async #look(): Promise<void> {
    // Without its lock this runner counts as dead, and whatever it begins would be taken over.
    if (this.#isRelocking) return;
    await this.#resume();
    const free = this.#parts.settings.maximumDeployments - this.#running.size;
    if (this.#stopping || free <= 0) return;
    for (const claimed of await this.#claim(free)) this.#begin(claimed, false);
  }

  /** Takes up interrupted work. The end of a deployment, or a new request, interrupts none. */
  async #resume(): Promise<void> {
    if (!this.#mayHaveInterrupted && performance.now() - this.#resumedAt < this.#lookEveryMilliseconds / 2) return;
    this.#mayHaveInterrupted = false;
    this.#resumedAt = performance.now();
    try {
      await this.#takeUpOwn();
      await this.#takeOverOrphans();
    } catch (error) {
      this.#mayHaveInterrupted = true;
      throw error;
    }
  }

  /** Claims requests until all slots are taken or no request can begin. */
  #claim(most: number): Promise<readonly store.ClaimedDeployment[]> {
    return this.#parts.database.transaction(async (tx) => {
      await tx.many(store.useIndexes);
      const claimed = await tx.many(store.claimNext, [this.#id, most]);
      for (const { id, action } of claimed) await this.#parts.hooks.deploymentStarted(tx, id, action);
      return claimed;
    });
  }

  /**
   * Resumes every deployment of this runner that is not under way, for whatever reason, unless its cluster is
   * unreachable.
   */
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
        this.#parts.log.info({ deployment: claimed.id }, 'resuming a deployment that another runner left');
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
      lookups: this.#lookups,
      builds: this.#builds,
      cancel: cancel.signal,
      force: force.signal,
      abandon: abandon.signal,
      isLastTry: (this.#interruptions.get(deployment.id) ?? 0) >= maxInterruptions,
    });
    const ended = run
      .execute()
      .then(() => void this.#interruptions.delete(deployment.id))
      .catch(async (error: unknown) => {
        await this.#onAbandoned(deployment, error, { waiting: run.waiting, abandon: abandon.signal });
        this.#mayHaveInterrupted = true;
      })
      .finally(() => {
        if (this.#running.get(deployment.id)?.fence === deployment.fence) this.#running.delete(deployment.id);
        this.wake();
      });
    this.#running.set(deployment.id, { fence: deployment.fence, cancel, force, abandon, ended });
  }

  /**
   * Handles a run that ends without recording its end. The row still names this runner, and a later look resumes the
   * deployment.
   */
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
    this.#parts.log.error({ err: error, deployment: deployment.id }, 'a deployment was interrupted and will be resumed');
    if (!isDatabaseUnreachable(error) && !abandon.aborted)
      this.#interruptions.set(deployment.id, 1 + (this.#interruptions.get(deployment.id) ?? 0));
    // The cause of the interruption probably still exists.
    await pause(this.#lookEveryMilliseconds, abandon);
  }

  #onNotification(payload: string): void {
    const [word = '', id = ''] = payload.split(' ');
    const isCancel = word === 'cancel' || word === 'force';
    if (isCancel) this.#endWaiting(id, word === 'force');
    const run = isCancel ? this.#running.get(id) : undefined;
    this.#mayHaveInterrupted ||= isCancel;
    // The order matters: listeners of `cancel` check whether the cancel is forced.
    if (word === 'force') run?.force.abort();
    run?.cancel.abort();
    this.wake();
  }

  /** Ends the wait of a deployment that the user has canceled. */
  #endWaiting(id: string, forced: boolean): void {
    if (forced || this.#waiting.get(id)?.takesBack === false) this.#waiting.delete(id);
  }

  async #renew(): Promise<void> {
    // Without its lock this runner counts as dead, and does not renew its leases.
    if (this.#isRelocking) return;
    const requested = performance.now();
    // Runs that begin during the query are not among its rows.
    const running = [...this.#running];
    try {
      await this.#parts.database.run(store.registerRunner, [this.#id]);
      const rows = new Map((await this.#parts.database.many(store.renewLeases, [this.#id])).map((row) => [row.id, row]));
      this.#renewedAt = requested;
      for (const { id, canceling, forced } of rows.values()) if (canceling) this.#endWaiting(id, forced);
      for (const [id, run] of running) {
        const row = rows.get(id);
        // The deployment has ended or was taken over. Its writes fail at the fence, and its changes to a cluster would
        // collide with the new owner's.
        if (row?.fence !== run.fence) run.abandon.abort();
        if (row?.forced === true) run.force.abort();
        if (row?.canceling === true) run.cancel.abort();
      }
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the runner could not renew its leases');
      if (performance.now() - this.#renewedAt < store.leaseSeconds * 1_000) return;
      // Other runners may own the deployments by now. The next look resumes those that this runner still owns.
      for (const [, run] of running) run.abandon.abort();
    }
  }

  /**
   * Abandons all runs. Without its lock this runner counts as dead and others may take its work, so it continues as a
   * new runner.
   */
  #onLockLost(): void {
    if (this.#stopping) return;
    this.#parts.log.warn({}, 'the runner lost its session with the database');
    for (const run of this.#running.values()) run.abandon.abort();
    this.#isRelocking = true;
    void this.#relock();
  }

  /**
   * Acquires a lock under a new id, and retries until it succeeds. The server may keep the former session until it
   * notices the lost connection. Deployments of the former id are then taken over by a look, as from any dead runner.
   */
  async #relock(): Promise<void> {
    if (this.#stopping) return;
    try {
      // A look under way may have begun more runs.
      await this.#looks.settled();
      for (const run of this.#running.values()) run.abandon.abort();
      await Promise.all([...this.#running.values()].map((run) => run.ended));
      const id = randomUUID();
      const lock = await acquireSessionLock(this.#parts.connectionString, lockName(id));
      if (lock === null) throw new Error('another session holds the lock of a new runner');
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
      this.#mayHaveInterrupted = true;
      this.wake();
    } catch {
      this.#relockTimer = setTimeout(() => void this.#relock(), this.#lookEveryMilliseconds);
    }
  }
}
