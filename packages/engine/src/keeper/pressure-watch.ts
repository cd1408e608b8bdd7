import { causes, type DiskPressure, type InstancePressure } from '@davit/drivers';
import { raiseCondition, type Observed } from '../conditions/conditions.ts';
import { driversOf, steadySeconds, type EngineParts } from '../shared/parts.ts';

/** A file system with less free space counts as full. For small file systems the limit is a fiftieth of their size. */
const minFreeBytes = 64 * 1024 * 1024;
/** Share of the process limit above which an instance is close to that limit. */
const nearlyFull = 0.9;
const passTimeoutMilliseconds = 10_000;

type Finding = Pick<Observed, 'kind' | 'failure' | 'occurrences'>;

interface Counters {
  readonly refused: number;
  readonly memoryKills: number;
  /**
   * Kills that were first seen in this pass. The next pass decides whether the instance survived them, because it may
   * be about to exit.
   */
  readonly pendingKills: number;
}

/**
 * Reads how close instances are to their limits, and raises conditions if
 *
 * - the process limit is reached or nearly reached,
 * - a process was killed for memory while the instance continues,
 * - a file system is full.
 */
export class PressureWatch {
  readonly #parts: EngineParts;
  readonly #driver: string;
  /** The counters of the previous pass, by instance and start time. */
  #counters = new Map<string, Counters>();

  constructor(parts: EngineParts, driver: string) {
    this.#parts = parts;
    this.#driver = driver;
  }

  /** Makes one pass and returns whether a condition changed. Failures are logged, and the next pass tries again. */
  async look(stop: AbortSignal): Promise<boolean> {
    const { cluster } = driversOf(this.#parts, this.#driver);
    if (cluster.metrics === undefined) return false;
    const signal = AbortSignal.any([stop, AbortSignal.timeout(passTimeoutMilliseconds)]);
    try {
      const found = await cluster.metrics.pressure(signal);
      return await this.#judge(found);
    } catch (error) {
      if (!stop.aborted)
        this.#parts.log.warn({ err: error, driver: this.#driver }, 'the limits and usage of instances could not be read');
      return false;
    }
  }

  async #judge(found: readonly InstancePressure[]): Promise<boolean> {
    const former = this.#counters;
    this.#counters = new Map();
    let hasChanged = false;
    for (const one of found) {
      const key = `${one.id} ${one.startedAt}`;
      const before = former.get(key);
      const { counters, findings } = judge(one, before);
      this.#counters.set(key, counters);
      for (const finding of findings) hasChanged = (await this.#raise(one, finding)) || hasChanged;
    }
    return hasChanged;
  }

  async #raise(one: InstancePressure, finding: Finding): Promise<boolean> {
    const raised = await raiseCondition(this.#parts.database, {
      ...finding,
      serviceId: one.service,
      rollout: one.rollout,
      severity: 'WARNING',
      instance: `instance ${one.index}`,
      at: new Date().toISOString(),
      clearAfterSeconds: steadySeconds(this.#parts.settings),
    });
    return raised !== null;
  }
}

/**
 * Judges one instance by the counters of this pass and of the previous one; `before` is undefined if this start of the
 * instance was not seen before. Pure.
 */
export function judge(
  one: InstancePressure,
  before: Counters | undefined,
): { readonly counters: Counters; readonly findings: readonly Finding[] } {
  const refused = one.processes?.refused ?? 0;
  const memoryKills = one.memoryKills ?? 0;
  // Counters start at 0 together with the instance. If the instance already ran before it was first seen, it is unknown
  // when its refusals and kills happened, so none of them counts as new.
  const newRefused = before === undefined ? 0 : Math.max(0, refused - before.refused);
  const newKills = before === undefined ? 0 : Math.max(0, memoryKills - before.memoryKills);
  const survived = before?.pendingKills ?? 0;
  const findings = [
    ...processFinding(one, newRefused),
    ...(survived > 0 ? [memoryFinding(survived)] : []),
    ...diskFinding(one.disks),
  ];
  return { counters: { refused, memoryKills, pendingKills: newKills }, findings };
}

function processFinding({ processes }: InstancePressure, refused: number): Finding[] {
  if (processes === null) return [];
  const { current, limit, programs } = processes;
  if (refused === 0 && current < limit * nearlyFull) return [];
  const message =
    refused > 0
      ? `The instance has ${current} processes and threads, and its limit is ${limit}: new ones are refused (EAGAIN).`
      : `The instance has ${current} processes and threads; its limit is ${limit}.`;
  const failure = { code: 'PROCESS_LIMIT', message, hint: causes.PROCESS_LIMIT, evidence: { lines: programs } };
  return [{ kind: 'PROCESSES', failure, occurrences: 0 }];
}

function memoryFinding(kills: number): Finding {
  const many = kills === 1 ? 'A process of the instance was' : `${kills} processes of the instance were`;
  const message = `${many} killed because the instance used all of its memory. Its first process keeps running.`;
  return {
    kind: 'MEMORY',
    failure: { code: 'OUT_OF_MEMORY', message, hint: causes.OUT_OF_MEMORY, evidence: {} },
    occurrences: kills,
  };
}

function diskFinding(disks: readonly DiskPressure[]): Finding[] {
  const full = disks.filter(isFull);
  if (full.length === 0) return [];
  const words = full.map(({ path, freeBytes, bytes, files, freeFiles }) =>
    files > 0 && freeFiles === 0
      ? `the file system of ${path} has no room for more files (${files})`
      : `the file system of ${path} has ${mebibytes(freeBytes)} of ${mebibytes(bytes)} MiB left`,
  );
  const message = `The disk is full: ${words.join(', ')}. Writing fails (ENOSPC).`;
  const hint = 'Remove files that are not needed, or have the operator enlarge the disk of the engine.';
  return [{ kind: 'DISK', failure: { code: 'DISK_FULL', message, hint, evidence: {} }, occurrences: 0 }];
}

function isFull({ bytes, freeBytes, files, freeFiles }: DiskPressure): boolean {
  return freeBytes < Math.min(minFreeBytes, bytes / 50) || (files > 0 && freeFiles === 0);
}

function mebibytes(bytes: number): number {
  return Math.floor(bytes / 1024 / 1024);
}
