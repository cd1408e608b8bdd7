import { pause } from '@davit/base';
import type { Instance, InstanceEnd } from '@davit/drivers';
import { causeOfEnd, describeEnd, quietSeconds, severityOfEnd } from '../conditions/instance-end.ts';
import { raiseCondition } from '../conditions/conditions.ts';
import { steadySeconds, type EngineParts } from '../shared/parts.ts';
import { instanceCounts } from '../scaling/instances.ts';
import * as store from '../store/instance-ends.ts';
import { terminationGrace } from '../workload/workload.ts';
import type { KnownKinds } from '../kinds/traits.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';
import { servingInstances } from './running-status.ts';

const shownLines = 50;
/**
 * Milliseconds to wait for the last lines of a process. They are stored within moments of its exit; later lines are
 * missing from the evidence.
 */
const linesMilliseconds = 1_500;
/** Maximum seconds between a failed liveness probe and the exit of the instance, in addition to the grace period. */
const restartSeconds = 30;

export interface EndWatchers {
  isReady(instance: Instance): boolean;
  /** Returns the seconds until Davit restarts an instance; null if the cluster restarts it by itself. */
  pauseSeconds(instance: Instance): number | null;
  /** Resolves when the output of an instance that has exited is stored. */
  stored(instance: Instance): Promise<void>;
  /** Called after an exit was recorded, because the status of the service has changed. */
  onNoted(): void;
}

/**
 * Records every unintended exit of an instance of a deployed release: as a condition of its service, and in the
 * metrics. An exit is identified by its time, which clusters still report after the instance was restarted. Each exit
 * is therefore recorded once, by whichever process, even if Davit was down meanwhile.
 */
export class InstanceEnds {
  readonly #parts: EngineParts;
  readonly #watchers: EndWatchers;
  readonly #stop: AbortSignal;
  /** Time of the last recorded exit, by instance. */
  readonly #known = new Map<string, string>();
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(parts: EngineParts, watchers: EndWatchers, stop: AbortSignal) {
    this.#parts = parts;
    this.#watchers = watchers;
    this.#stop = stop;
  }

  /** Records the exits since the last look, without waiting for the writes. */
  note(seen: ClusterSnapshot): void {
    const present = new Set([...seen.byService.values()].flat().map(({ id }) => id));
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id);
    for (const runtime of seen.runtimes)
      for (const instance of watched(this.#parts.kinds, runtime, seen)) this.#noteOne(runtime, instance, seen);
  }

  /** Resolves when no exit is being recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  #noteOne(runtime: KeptService, instance: Instance, seen: ClusterSnapshot): void {
    const { lastEnd: end } = instance;
    if (end === undefined || this.#known.get(instance.id) === end.at || this.#underWay.has(instance.id)) return;
    // The pause is read now, because the instance may be restarted meanwhile.
    const pauseSeconds = this.#watchers.pauseSeconds(instance);
    const done = this.#store(runtime, { instance, end, pauseSeconds }, seen)
      .then(() => void this.#known.set(instance.id, end.at))
      .catch((error: unknown) => {
        // The database is unreachable. The next look records the exit.
        if (!this.#stop.aborted)
          this.#parts.log.warn({ err: error, instance: instance.name }, 'the end of an instance could not be recorded');
      })
      .finally(() => this.#underWay.delete(instance.id));
    this.#underWay.set(instance.id, done);
  }

  async #store(runtime: KeptService, { instance, end, pauseSeconds }: EndedInstance, seen: ClusterSnapshot): Promise<void> {
    const { database, settings } = this.#parts;
    const { service_id: service, rollout, config } = runtime;
    if (rollout === null || config === null) return;
    const lines = await this.#lines(instance, end);
    const grace = terminationGrace(config, settings) + restartSeconds;
    const since = new Date(Date.parse(end.at) - 1_000 * grace).toISOString();
    const wasNotLive = (await database.maybe(store.livenessFailure, [service, since]))?.instance_name === instance.name;
    const cause = causeOfEnd(end, wasNotLive);
    const others = servingInstances(runtime, seen).filter(
      (other) => other.id !== instance.id && other.state === 'RUNNING' && this.#watchers.isReady(other),
    ).length;
    const row = [instance.id, end.at, service, rollout, cause, end.code, instance.restarts ?? null];
    const isNew = await database.transaction(async (tx) => {
      const noted = await tx.maybe(store.noteInstanceEnd, row);
      // The condition of a failing probe is already open.
      if (noted === undefined || cause === 'PROBE_FAILED') return noted !== undefined;
      const recent = await tx.many(store.recentEnds, [service]);
      const clearAfterSeconds = quietSeconds(recent, steadySeconds(settings));
      // Davit was down, and the service has been healthy since.
      if (Date.now() - Date.parse(end.at) > 1_000 * clearAfterSeconds && instance.state === 'RUNNING') return true;
      await raiseCondition(tx, {
        serviceId: service,
        rollout,
        kind: 'INSTANCE_END',
        severity: severityOfEnd(instance.id, recent, others),
        failure: describeEnd({ instance, end, cause, memoryMiB: config.memoryMiB, lines, pauseSeconds, recent }),
        instance: instance.name,
        at: end.at,
        occurrences: noted.ends,
        clearAfterSeconds,
      });
      return true;
    });
    if (isNew) this.#watchers.onNoted();
  }

  async #lines(instance: Instance, { at }: InstanceEnd): Promise<readonly string[]> {
    const whole = new AbortController();
    // If the instance runs again, its output does not end. The lines up to the exit are stored as fast as those of
    // others.
    const stored =
      instance.state === 'RUNNING' ? pause((linesMilliseconds * 2) / 3, whole.signal) : this.#watchers.stored(instance);
    await Promise.race([stored, pause(linesMilliseconds, AbortSignal.any([whole.signal, this.#stop]))]);
    whole.abort();
    return (await this.#parts.database.many(store.linesUntil, [instance.id, endOfInstant(at), shownLines])).map(
      ({ message }) => message,
    );
  }
}

/** Returns the last millisecond that a time may stand for. Kubernetes states whole seconds. Pure. */
function endOfInstant(at: string): string {
  return /\.\d/.test(at) ? at : new Date(Date.parse(at) + 999).toISOString();
}

interface EndedInstance {
  readonly instance: Instance;
  readonly end: InstanceEnd;
  readonly pauseSeconds: number | null;
}

/**
 * Returns the instances whose exit would be unintended. Excluded are services that are being deployed, former rollouts,
 * and instances that scaling removes.
 */
function watched(kinds: KnownKinds, runtime: KeptService, seen: ClusterSnapshot): readonly Instance[] {
  const { config, desired, rollout, service_id: service } = runtime;
  if (desired !== 'RUNNING' || config === null || seen.deploying.has(service) || !kinds.of(config).hasLastingInstances) return [];
  const { lasting } = instanceCounts(runtime, config);
  return (seen.byService.get(service) ?? []).filter((instance) => instance.rollout === rollout && instance.index < lasting);
}
