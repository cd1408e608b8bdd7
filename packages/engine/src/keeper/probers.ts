import type { Instance, Workload } from '@davit/drivers';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { workloadOf, type KeptService } from './kept-service.ts';
import type { ClusterSnapshot } from './observer.ts';
import type { ProbeFailure } from './probe-conditions.ts';
import { Prober, type ProbeVerdicts } from './prober.ts';

/** Probes all serving instances on a cluster that have probes. */
export class Probers {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #verdicts: ProbeVerdicts;
  /** The probers, by instance and start time. A restarted instance gets a new prober. */
  readonly #probers = new Map<string, Prober>();
  /** The failed attempts of the readiness probes of instances that are not ready, by instance. */
  readonly #unready = new Map<string, ProbeFailure>();

  constructor(parts: EngineParts, driver: string, verdicts: ProbeVerdicts) {
    this.#parts = parts;
    this.#driver = driver;
    this.#verdicts = verdicts;
  }

  /** Returns whether an instance is ready by its readiness probe, or by its cluster; true if it has no probe. */
  isReady(instance: Instance): boolean {
    return instance.unready !== true && !this.#unready.has(instance.id);
  }

  /** Returns the instances of a service that are not ready, with the failed attempts of their probes. */
  unready({ service_id: service, rollout }: Pick<KeptService, 'service_id' | 'rollout'>): readonly ProbeFailure[] {
    return [...this.#unready.values()].filter(({ instance }) => instance.service === service && instance.rollout === rollout);
  }

  /** Starts the missing probers and stops those that are no longer needed. A cluster with `health` needs none. */
  async follow(seen: ClusterSnapshot): Promise<void> {
    const wanted = new Map<string, { instance: Instance; runtime: KeptService }>();
    const { health } = driversOf(this.#parts, this.#driver).cluster;
    for (const runtime of health === undefined ? seen.runtimes : []) {
      const probes = runtime.config !== null && (runtime.config.readiness !== null || runtime.config.liveness !== null);
      if (runtime.desired !== 'RUNNING' || !probes) continue;
      for (const instance of seen.byService.get(runtime.service_id) ?? []) {
        if (instance.rollout !== runtime.rollout || instance.state !== 'RUNNING') continue;
        wanted.set(`${instance.id} ${instance.startedAt ?? ''}`, { instance, runtime });
      }
    }
    for (const [key, prober] of this.#probers) {
      if (wanted.has(key)) continue;
      this.#probers.delete(key);
      this.#unready.delete(key.split(' ', 1)[0] ?? '');
      await prober.stop();
    }
    for (const [key, { instance, runtime }] of wanted) {
      if (this.#probers.has(key)) continue;
      const workload = await workloadOf(this.#parts, runtime, false);
      if (workload !== null) this.#probers.set(key, this.#probe(workload, instance));
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#probers.values()].map((prober) => prober.stop()));
  }

  #probe(workload: Workload, instance: Instance): Prober {
    return new Prober(
      this.#parts,
      this.#driver,
      { workload, instance },
      {
        onDead: (dead, attempts) => this.#verdicts.onDead(dead, attempts),
        onReadiness: (changed, isReady, attempts) => {
          if (isReady) this.#unready.delete(changed.id);
          else this.#unready.set(changed.id, { instance: changed, attempts });
          this.#verdicts.onReadiness(changed, isReady, attempts);
        },
      },
    );
  }
}
