import type { InstanceEnd } from '../workload.ts';
import type { EngineEvent } from './watch.ts';

/** A process that was killed for its memory ends within this time of the engine's notice. */
const killMilliseconds = 10_000;
/** Between the end of a process and the engine's event of it. */
const differenceMilliseconds = 5_000;

interface Noted {
  /** Of the event. */
  readonly at: number;
  readonly code: number;
  readonly outOfMemory: boolean;
}

/**
 * How instances ended, from the events of the engine: Docker restarts an instance within a tenth of a second, and its inspection then shows when
 * the former process ended, but no longer how.
 */
export class Ends {
  readonly #ends = new Map<string, Noted>();
  readonly #memoryKills = new Map<string, number>();

  note({ Action, status, timeNano, Actor }: EngineEvent): void {
    const [action, id, attributes] = [Action ?? status ?? '', Actor?.ID ?? '', Actor?.Attributes ?? {}];
    const at = timeNano === undefined ? Date.now() : timeNano / 1_000_000;
    if (action === 'oom') this.#memoryKills.set(id, at);
    // An end after this start has a reason of its own.
    if (action === 'start') this.#memoryKills.delete(id);
    if (action === 'destroy' || action === 'remove') {
      this.#ends.delete(id);
      this.#memoryKills.delete(id);
    }
    if (action !== 'die' && action !== 'died') return;
    // Docker names it exitCode, Podman containerExitCode.
    const code = Number.parseInt(attributes['exitCode'] ?? attributes['containerExitCode'] ?? '', 10);
    if (Number.isNaN(code)) return;
    const killedAt = this.#memoryKills.get(id) ?? -Infinity;
    this.#ends.set(id, { at, code, outOfMemory: at - killedAt < killMilliseconds });
  }

  /** Completes an end whose code is not known any more, where its event was received. */
  complete(id: string, end: InstanceEnd): InstanceEnd {
    const noted = this.#ends.get(id);
    if (end.code !== null || noted === undefined) return end;
    const isThis = Math.abs(noted.at - Date.parse(end.at)) < differenceMilliseconds;
    return isThis ? { ...end, code: noted.code, outOfMemory: noted.outOfMemory } : end;
  }
}
