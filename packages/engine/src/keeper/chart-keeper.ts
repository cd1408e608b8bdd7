import type { ChartState, ClusterCharts } from '@davit/drivers';
import { placeOfRuntime } from '../charts/place.ts';
import { ClusterAway } from '../clusters/drivers.ts';
import { driversOf, type EngineParts } from '../parts.ts';
import { setRunningStatus } from '../store/journal.ts';
import type { Kept } from './kept.ts';
import type { LogCollector } from './log-collector.ts';

/** Looks after the charts of one cluster, whose parts the cluster itself keeps running: how they are, and what they print. */
export class ChartKeeper {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #logs: LogCollector;
  /** Which life of a container is followed. */
  readonly #followed = new Map<string, string>();

  constructor(parts: EngineParts, driver: string, logs: LogCollector) {
    this.#parts = parts;
    this.#driver = driver;
    this.#logs = logs;
  }

  async keep(runtime: Kept, signal: AbortSignal): Promise<void> {
    const { charts } = driversOf(this.#parts, this.#driver).cluster;
    if (charts === undefined || runtime.desired !== 'RUNNING') return;
    const state = await this.#look(charts, runtime, signal);
    if (state === null) return;
    this.#follow(runtime, state);
    const status = statusOf(state);
    if (status === runtime.running_status && state.ready === runtime.running_instances) return;
    await this.#parts.database.run(setRunningStatus, [runtime.service_id, status, state.ready]);
  }

  /** null: what is wrong with one chart, or with what may be seen of it, says nothing of the others. */
  async #look(charts: ClusterCharts, runtime: Kept, signal: AbortSignal): Promise<ChartState | null> {
    try {
      return await charts.state(placeOfRuntime(this.#parts.settings.installation, runtime), signal);
    } catch (error) {
      if (signal.aborted || error instanceof ClusterAway) throw error;
      this.#parts.log.warn({ err: error, service: runtime.service_id }, 'the keeper could not look after a chart');
      if (runtime.running_status !== null) await this.#parts.database.run(setRunningStatus, [runtime.service_id, null, null]);
      return null;
    }
  }

  /** Forgets containers that are gone. */
  forgetAllBut(services: ReadonlySet<string>): void {
    for (const key of this.#followed.keys()) if (!services.has(key.split(' ', 1)[0] ?? '')) this.#followed.delete(key);
  }

  #follow({ service_id: service, release_id: release, rollout, config }: Kept, { instances }: ChartState): void {
    if (config === null || release === null) return;
    const keys = new Set<string>();
    for (const instance of instances) {
      const key = `${service} ${instance.id}`;
      keys.add(key);
      const life = instance.startedAt;
      if (life === null || this.#followed.get(key) === life) continue;
      this.#followed.set(key, life);
      this.#logs.follow({ ...instance, release, rollout: rollout ?? '' }, config);
    }
    for (const key of this.#followed.keys()) if (key.startsWith(`${service} `) && !keys.has(key)) this.#followed.delete(key);
  }
}

function statusOf({ wanted, ready }: ChartState): 'RUNNING' | 'WARNING' | 'ERROR' {
  if (ready >= wanted) return 'RUNNING';
  return ready === 0 ? 'ERROR' : 'WARNING';
}
