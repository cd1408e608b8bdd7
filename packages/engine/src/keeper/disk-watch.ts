import { pause } from '@davit/base';
import { causes, type ClusterDisk, type Instance } from '@davit/drivers';
import { raiseCondition } from '../conditions/conditions.ts';
import type { FailureRecord } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { clearStateCondition } from '../store/conditions.ts';
import { writeServiceLine } from '../output/service-line.ts';
import { heldVolumeBytes } from '../store/metrics.ts';
import { terminationGrace } from '../workload/workload.ts';
import type { KnownKinds } from '../kinds/traits.ts';
import type { KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';

/*
 * Watches how much services write to the disk of an engine. No storage driver that is common there limits this by
 * itself.
 *
 * - The file system of an instance has a limit. An instance above it is stopped, its files are removed, and a new
 *   instance replaces it.
 * - A volume may exceed its size by some percentage. Above that, the service is stopped until it is deployed or
 *   restarted (see `Kept.is_held`).
 *
 * A pass requests one instance at a time, because the engine counts files: 5 ms for none and 0.2 s for 20,000.
 */

const defaultEverySeconds = 60;
/** Seconds after a restart in which a service that was stopped for its volumes may free space. */
const defaultGraceSeconds = 600;
/** Shares of the limits above which a service gets a warning. */
const warnShare = 0.8;
const volumeWarnShare = 0.9;
/** Maximum share of the time that passes may take. With many files, passes are less frequent. */
const maxBusy = 0.1;
/** Seconds for which the condition of a stopped instance stays open, unless the limit is exceeded again. */
const clearAfterSeconds = 3600;
const removeSeconds = 120;

const mebibyte = 1024 * 1024;
const gibibyte = 1024 * mebibyte;

interface Found {
  readonly severity: 'WARNING' | 'ERROR';
  readonly failure: FailureRecord;
  readonly instance: string | null;
  readonly occurrences: number;
  readonly clearAfterSeconds: number | null;
}

export class DiskWatch {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #stop: AbortSignal;
  readonly #onNoted: () => void;
  #nextAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  /** Whether the current pass has raised a condition. */
  #hasNoted = false;
  /** Ids of removed instances that a look that began earlier may still list. */
  readonly #removed = new Set<string>();
  /** Services that are known to have no open condition of this watch. Of other services it is unknown. */
  readonly #clear = new Set<string>();

  /** @param onNoted is called after a pass that raised a condition: a service must be stopped or has a new status. */
  constructor(
    parts: EngineParts,
    driver: string,
    { stop, onNoted }: { readonly stop: AbortSignal; readonly onNoted: () => void },
  ) {
    this.#parts = parts;
    this.#driver = driver;
    this.#stop = stop;
    this.#onNoted = onNoted;
  }

  /** Starts a pass if one is due. Only the process that follows the output may call this; the pass ends with `term`. */
  look(seen: ClusterSnapshot, term: AbortSignal): void {
    const { disk } = driversOf(this.#parts, this.#driver).cluster;
    if (disk === undefined || this.#isRunning || this.#stop.aborted || performance.now() < this.#nextAt) return;
    this.#isRunning = true;
    this.#running = this.#pass(disk, seen, AbortSignal.any([this.#stop, term]));
  }

  /** Resolves when no pass is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #pass(disk: ClusterDisk, seen: ClusterSnapshot, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    const present = new Set([...seen.byService.values()].flat().map(({ id }) => id));
    for (const id of this.#removed) if (!present.has(id)) this.#removed.delete(id);
    try {
      const rows = await this.#parts.database.many(heldVolumeBytes, [seen.runtimes.map(({ service_id: id }) => id)]);
      const volumes = new Map(rows.map((row) => [row.service_id, row.volume_bytes]));
      for (const runtime of seen.runtimes) {
        if (signal.aborted) return;
        if (!isWatched(this.#parts.kinds, runtime, seen)) continue;
        const instances = (seen.byService.get(runtime.service_id) ?? []).filter(
          (one) => one.state === 'RUNNING' && !this.#removed.has(one.id) && !isFormer(this.#parts.kinds, runtime, one),
        );
        await this.#lookAt(disk, { runtime, instances, volumeBytes: volumes.get(runtime.service_id) ?? 0 }, signal);
      }
    } catch (error) {
      if (!signal.aborted)
        this.#parts.log.warn({ err: error, driver: this.#driver }, 'the disk usage of services could not be measured');
    } finally {
      const took = performance.now() - began;
      const every = (this.#parts.settings.diskWatchSeconds ?? defaultEverySeconds) * 1000;
      this.#nextAt = began + Math.max(every, took / maxBusy);
      this.#isRunning = false;
      if (this.#hasNoted) this.#onNoted();
      this.#hasNoted = false;
    }
  }

  async #lookAt(disk: ClusterDisk, watched: Watched, signal: AbortSignal): Promise<void> {
    const { runtime, instances } = watched;
    const written: Written[] = [];
    for (const instance of instances) {
      const bytes = await this.#written(disk, instance, signal);
      if (bytes !== null) written.push({ instance, bytes });
      // Between two instances, the engine is left to other callers for a moment.
      await pause(10, signal);
    }
    const limit = this.#parts.settings.instanceDiskMiB * mebibyte;
    const over = limit === 0 ? [] : written.filter(({ bytes }) => bytes > limit);
    const found = this.#volumesOf(watched) ?? this.#layersOf(written, over);
    // The absence of problems is only known if every instance was counted.
    if (found !== null || written.length === instances.length) await this.#note(runtime, found);
    for (const one of over) await this.#replace(disk, runtime, one);
  }

  /**
   * Returns the bytes that an instance has written; null if they cannot be counted. The other instances are watched all
   * the same.
   */
  async #written(disk: ClusterDisk, instance: Instance, signal: AbortSignal): Promise<number | null> {
    try {
      return await disk.written(instance.id, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#parts.log.warn({ err: error, instance: instance.name }, 'the disk usage of an instance could not be measured');
      return null;
    }
  }

  /** Returns the problem with the volumes; null if there is none. */
  #volumesOf({ runtime, instances, volumeBytes }: Watched): Found | null {
    const { volumeLimitPercent, diskGraceSeconds = defaultGraceSeconds } = this.#parts.settings;
    const promised = (runtime.config?.volumes ?? []).reduce((sum, { sizeGiB }) => sum + sizeGiB, 0) * gibibyte;
    if (promised === 0 || volumeBytes <= promised * volumeWarnShare) return null;
    const words = `The volumes of the service hold ${inGiB(volumeBytes)} of ${inGiB(promised)} (storage.size)`;
    const isOver = volumeLimitPercent > 0 && volumeBytes > (promised * volumeLimitPercent) / 100;
    if (!isOver) return found('WARNING', 'VOLUME_EXCEEDED', `${words}. Writes above this size may fail.`);
    const youngest = Math.max(...instances.map(({ startedAt }) => Date.parse(startedAt ?? '') || 0));
    const isHeld = instances.length === 0;
    if (!isHeld && Date.now() - youngest < diskGraceSeconds * 1000) {
      const rest = `It is stopped ${Math.round(diskGraceSeconds / 60)} minutes after its start if it does not free space.`;
      return found(
        'WARNING',
        'VOLUME_EXCEEDED',
        `${words}, more than ${volumeLimitPercent} % (DAVIT_VOLUME_LIMIT_PERCENT). ${rest}`,
      );
    }
    const message = `${words}, more than ${volumeLimitPercent} % (DAVIT_VOLUME_LIMIT_PERCENT): its instances were stopped to keep space for others.`;
    return { ...found('ERROR', 'VOLUME_EXCEEDED', message), occurrences: isHeld ? 0 : 1 };
  }

  /** Returns the problem with the files that instances wrote into their own file systems; null if there is none. */
  #layersOf(written: readonly Written[], over: readonly Written[]): Found | null {
    const limit = this.#parts.settings.instanceDiskMiB * mebibyte;
    const [most] = written.toSorted((a, b) => b.bytes - a.bytes);
    if (most === undefined || limit === 0 || most.bytes <= limit * warnShare) return null;
    const words = `${most.instance.name} has written ${inGiB(most.bytes)} to its own file system; the limit is ${inGiB(limit)} (DAVIT_INSTANCE_DISK_MIB)`;
    const instance = most.instance.name;
    if (over.length === 0) return { ...found('WARNING', 'INSTANCE_DISK_EXCEEDED', `${words}.`), instance };
    const message = `${words}. It was stopped and its data removed; a new instance replaces it.`;
    return { ...found('ERROR', 'INSTANCE_DISK_EXCEEDED', message), instance, occurrences: over.length, clearAfterSeconds };
  }

  async #note({ service_id: serviceId, rollout }: KeptService, found: Found | null): Promise<void> {
    const { database } = this.#parts;
    if (found === null) {
      if (this.#clear.has(serviceId)) return;
      await database.run(clearStateCondition, [serviceId, 'DISK', 'Davit: DISK is over.']);
      this.#clear.add(serviceId);
      return;
    }
    this.#clear.delete(serviceId);
    if (rollout === null) return;
    const observed = { ...found, serviceId, rollout, kind: 'DISK' as const, at: new Date().toISOString() };
    this.#hasNoted ||= (await raiseCondition(database, observed)) !== null;
  }

  async #replace(disk: ClusterDisk, { service_id: service, config }: KeptService, { instance, bytes }: Written): Promise<void> {
    const { log, settings } = this.#parts;
    const words = `${instance.name} has written ${inGiB(bytes)} to its own file system (DAVIT_INSTANCE_DISK_MIB): it is stopped and its data removed.`;
    // A run of a job gets no condition, because it is not the deployed release.
    if (config !== null && !this.#parts.kinds.of(config).hasLastingInstances) {
      const message = `Davit: ERROR INSTANCE_DISK_EXCEEDED: ${words}`;
      await writeServiceLine(this.#parts, { service, release: instance.release, stream: 'stderr', message });
    }
    log.warn({ instance: instance.name, bytes }, 'an instance exceeded its disk limit and is stopped');
    const grace = terminationGrace(config, settings);
    const signal = AbortSignal.any([this.#stop, AbortSignal.timeout((grace + removeSeconds) * 1000)]);
    await disk.remove(instance.id, grace, { signal, log: (line) => log.info({ driver: this.#driver }, line) });
    this.#removed.add(instance.id);
  }
}

interface Watched {
  readonly runtime: KeptService;
  readonly instances: readonly Instance[];
  readonly volumeBytes: number;
}

interface Written {
  readonly instance: Instance;
  readonly bytes: number;
}

function isWatched(
  kinds: KnownKinds,
  { desired, config, environment_id: environment }: KeptService,
  seen: ClusterSnapshot,
): boolean {
  if (desired !== 'RUNNING' || config === null || seen.busy.has(environment)) return false;
  return kinds.of(config).hasOwnContainers;
}

/** Returns whether an instance belongs to a former rollout, which is being ended. */
function isFormer(kinds: KnownKinds, { config, rollout }: KeptService, instance: Instance): boolean {
  return kinds.of(config).hasLastingInstances && instance.rollout !== rollout;
}

function found(severity: Found['severity'], code: 'VOLUME_EXCEEDED' | 'INSTANCE_DISK_EXCEEDED', message: string): Found {
  const failure = { code, message, hint: causes[code], evidence: {} };
  return { severity, failure, instance: null, occurrences: 0, clearAfterSeconds: null };
}

function inGiB(bytes: number): string {
  return bytes < gibibyte ? `${Math.round(bytes / mebibyte)} MiB` : `${(bytes / gibibyte).toFixed(1)} GiB`;
}
