import type { ChartState, ClusterCharts } from '@davit/drivers';
import { placeOfRuntime } from '../charts/place.ts';
import { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { setRunningStatus } from '../store/journal.ts';
import type { Kept } from './kept.ts';
import type { LogCollector } from '../output/log-collector.ts';

/**
 * Looks after the charts of one cluster: reads their state and follows their output. The cluster itself keeps the pods
 * of charts running.
 */
export class ChartKeeper {
  readonly #parts: EngineParts;
  readonly #driver: string;
  readonly #logs: LogCollector;

  constructor(parts: EngineParts, driver: string, logs: LogCollector) {
    this.#parts = parts;
    this.#driver = driver;
    this.#logs = logs;
  }

  /**
   * Updates the state of a chart, and follows its output.
   *
   * @param term aborted when this process may no longer follow the output on this cluster; null if another process
   * follows it.
   */
  async keep(runtime: Kept, term: AbortSignal | null, signal: AbortSignal): Promise<void> {
    const { charts } = driversOf(this.#parts, this.#driver).cluster;
    if (charts === undefined || runtime.desired !== 'RUNNING') return;
    const state = await this.#look(charts, runtime, signal);
    if (state === null) return;
    if (term !== null) this.#follow(runtime, state, term);
    const status = statusOf(state);
    if (status === runtime.running_status && state.ready === runtime.running_instances) return;
    await this.#parts.database.run(setRunningStatus, [runtime.service_id, status, state.ready]);
  }

  /**
   * Returns the state of a chart; null if it cannot be read. A problem with one chart, or missing permission to read
   * it, does not affect the others.
   */
  async #look(charts: ClusterCharts, runtime: Kept, signal: AbortSignal): Promise<ChartState | null> {
    try {
      return await charts.state(placeOfRuntime(this.#parts.settings.installation, runtime), signal);
    } catch (error) {
      if (signal.aborted || error instanceof ClusterUnreachable) throw error;
      this.#parts.log.warn({ err: error, service: runtime.service_id }, 'the keeper could not look after a chart');
      if (runtime.running_status !== null) await this.#parts.database.run(setRunningStatus, [runtime.service_id, null, null]);
      return null;
    }
  }

  #follow({ release_id: release, rollout, config }: Kept, { instances }: ChartState, term: AbortSignal): void {
    if (config === null || release === null) return;
    for (const instance of instances) this.#logs.follow({ ...instance, release, rollout: rollout ?? '' }, config, term);
  }
}

function statusOf({ wanted, ready }: ChartState): 'RUNNING' | 'WARNING' | 'ERROR' {
  if (ready >= wanted) return 'RUNNING';
  return ready === 0 ? 'ERROR' : 'WARNING';
}
