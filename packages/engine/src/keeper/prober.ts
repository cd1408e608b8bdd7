import { pause } from '@davit/base';
import type { Instance, Probe, Workload } from '@davit/drivers';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';

export interface ProbeVerdicts {
  /**
   * Called when liveness has failed as often as the probe allows, and again with each further failure. The instance
   * must be restarted. `attempts` has the results of the last attempts, newest last.
   */
  onDead(instance: Instance, attempts: readonly string[]): void;
  /** Called when readiness changes. The gateway must start or stop sending requests to the instance. */
  onReadiness(instance: Instance, isReady: boolean, attempts: readonly string[]): void;
}

type Kind = 'readiness' | 'liveness';

const keptAttempts = 10;

// Result of a probe that could not be executed: the cluster is unreachable or forbids the request.
const unknown = Symbol('unknown');

/**
 * Probes one instance for as long as it runs. Readiness starts as true, because probing begins after the rollout was
 * ready. A probe that cannot be executed is ignored, because an unreachable cluster proves nothing about the instance.
 */
export class Prober {
  readonly #stop = new AbortController();
  readonly #log: EngineParts['log'];
  readonly #instance: Instance;
  readonly #done: Promise<void>;

  constructor(parts: EngineParts, driver: string, subject: { workload: Workload; instance: Instance }, verdicts: ProbeVerdicts) {
    this.#log = parts.log;
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

  /** Stops probing and aborts a probe under way. Never rejects. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #loop(probe: Probe, kind: Kind, verdicts: ProbeVerdicts, check: () => Promise<string | null>): Promise<void> {
    let failures = 0;
    let attempts: readonly string[] = [];
    let successes = 0;
    let isReady = true;
    let wasUnknown = false;
    const started = Date.parse(this.#instance.startedAt ?? new Date().toISOString());
    while (!this.#stop.signal.aborted) {
      await pause(probe.periodSeconds * 1_000, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const seen = await this.#ask(check, wasUnknown);
      if (this.#stop.signal.aborted) return;
      wasUnknown = seen === unknown;
      if (seen === unknown) continue;
      if (seen === null) {
        failures = 0;
        attempts = [];
        successes += 1;
        if (kind === 'readiness' && !isReady && successes >= probe.successThreshold) {
          isReady = true;
          verdicts.onReadiness(this.#instance, true, []);
        }
        continue;
      }
      successes = 0;
      attempts = [...attempts, `${new Date().toISOString()}: ${seen}`].slice(-keptAttempts);
      if (Date.now() - started < probe.initialDelaySeconds * 1_000) continue;
      failures += 1;
      if (failures < probe.failureThreshold) continue;
      if (kind === 'liveness') verdicts.onDead(this.#instance, attempts);
      else if (isReady) {
        isReady = false;
        verdicts.onReadiness(this.#instance, false, attempts);
      }
    }
  }

  /**
   * Executes the probe once. `isTold`: an unknown result was logged before and is not logged again. Unreachable
   * clusters are logged by their keeper.
   */
  async #ask(check: () => Promise<string | null>, isReported: boolean): Promise<string | null | typeof unknown> {
    try {
      return await check();
    } catch (error) {
      if (!isReported && !this.#stop.signal.aborted && !(error instanceof ClusterUnreachable))
        this.#log.warn(
          { err: error, instance: this.#instance.name },
          'an instance could not be probed; its state stays as it was',
        );
      return unknown;
    }
  }
}
