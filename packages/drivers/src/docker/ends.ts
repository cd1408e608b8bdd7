import type { InstanceEnd } from '../workload.ts';

/** Milliseconds within which a process exits after the engine's out-of-memory event. */
const killMilliseconds = 10_000;
/** Maximum difference in milliseconds between the exit time of a process and the engine's event for it. */
const differenceMilliseconds = 5_000;

/** An event as the engine's API reports it. */
export interface EngineEvent {
  readonly Type?: string;
  readonly Action?: string;
  readonly status?: string;
  readonly timeNano?: number;
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> | null };
}

interface Noted {
  /** Time of the event, in milliseconds since the epoch. */
  readonly at: number;
  readonly code: number;
  readonly outOfMemory: boolean;
}

/**
 * Records how instances exited, from the events of the engine. Docker restarts an instance within a tenth of a second,
 * and its inspection then shows when the previous process exited, but no longer how.
 */
export class Ends {
  readonly #ends = new Map<string, Noted>();
  readonly #memoryKills = new Map<string, number>();

  note({ Action, status, timeNano, Actor }: EngineEvent): void {
    const [action, id, attributes] = [Action ?? status ?? '', Actor?.ID ?? '', Actor?.Attributes ?? {}];
    const at = timeNano === undefined ? Date.now() : timeNano / 1_000_000;
    if (action === 'oom') this.#memoryKills.set(id, at);
    // A later exit has a different reason than the earlier out-of-memory kill.
    if (action === 'start') this.#memoryKills.delete(id);
    if (action === 'destroy' || action === 'remove') {
      this.#ends.delete(id);
      this.#memoryKills.delete(id);
    }
    if (action !== 'die' && action !== 'died') return;
    // Docker names the attribute exitCode, Podman containerExitCode.
    const code = Number.parseInt(attributes['exitCode'] ?? attributes['containerExitCode'] ?? '', 10);
    if (Number.isNaN(code)) return;
    const killedAt = this.#memoryKills.get(id) ?? -Infinity;
    this.#ends.set(id, { at, code, outOfMemory: at - killedAt < killMilliseconds });
  }

  /** Adds the exit code to an end that lacks it, if the engine's event for it was received. */
  complete(id: string, end: InstanceEnd): InstanceEnd {
    const noted = this.#ends.get(id);
    if (end.code !== null || noted === undefined) return end;
    const isThis = Math.abs(noted.at - Date.parse(end.at)) < differenceMilliseconds;
    return isThis ? { ...end, code: noted.code, outOfMemory: noted.outOfMemory } : end;
  }
}
