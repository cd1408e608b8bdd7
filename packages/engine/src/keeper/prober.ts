import type { Instance, Probe, Workload } from '@davit/drivers';
import { driversOf, type EngineParts } from '../parts.ts';
import { pause } from '../run/pause.ts';

export interface ProbeVerdicts {
  /** Liveness failed as often as it may: the instance is to be restarted. */
  onDead(instance: Instance, seen: string): void;
  /** Readiness changed: the gateway is to send requests, or no more. */
  onReadiness(instance: Instance, isReady: boolean): void;
}

type Kind = 'readiness' | 'liveness';

/** Probes one instance for as long as it runs. Readiness starts as true: instances come here after their rollout was ready. */
export class Prober {
  readonly #stop = new AbortController();
  readonly #instance: Instance;
  readonly #done: Promise<void>;

  constructor(parts: EngineParts, driver: string, subject: { workload: Workload; instance: Instance }, verdicts: ProbeVerdicts) {
    this.#instance = subject.instance;
    const { cluster } = driversOf(parts, driver);
    const loop = (probe: Probe | null, kind: Kind): Promise<void> =>
      probe === null
        ? Promise.resolve()
        : this.#loop(probe, kind, verdicts, () => cluster.probe(subject.workload, subject.instance, kind, this.#stop.signal));
    this.#done = Promise.all([loop(subject.workload.readiness, 'readiness'), loop(subject.workload.liveness, 'liveness')]).then(
      () => undefined,
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #loop(probe: Probe, kind: Kind, verdicts: ProbeVerdicts, check: () => Promise<string | null>): Promise<void> {
    let failures = 0;
    let successes = 0;
    let isReady = true;
    const started = Date.parse(this.#instance.startedAt ?? new Date().toISOString());
    while (!this.#stop.signal.aborted) {
      await pause(probe.periodSeconds * 1_000, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const seen = await check();
      if (this.#stop.signal.aborted) return;
      if (seen === null) {
        failures = 0;
        successes += 1;
        if (kind === 'readiness' && !isReady && successes >= probe.successThreshold) {
          isReady = true;
          verdicts.onReadiness(this.#instance, true);
        }
        continue;
      }
      successes = 0;
      if (Date.now() - started < probe.initialDelaySeconds * 1_000) continue;
      failures += 1;
      if (failures < probe.failureThreshold) continue;
      if (kind === 'liveness') {
        verdicts.onDead(this.#instance, seen);
        return;
      }
      if (isReady) {
        isReady = false;
        verdicts.onReadiness(this.#instance, false);
      }
    }
  }
}
