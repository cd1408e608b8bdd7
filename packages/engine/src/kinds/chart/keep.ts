import type { ChartState, ClusterCharts } from '@davit/drivers';
import { refOfRuntime } from './ref.ts';
import { ClusterUnreachable } from '../../shared/cluster-drivers.ts';
import { driversOf } from '../../shared/parts.ts';
import { setRunningStatus } from '../../store/journal.ts';
import type { KeepTools, Look } from '../../keeper/keep-tools.ts';
import type { KeptService } from '../../keeper/kept-service.ts';

/** Updates the state of a chart, and follows its output. The cluster itself keeps the pods of charts running. */
export async function keepChart(runtime: KeptService, { term }: Look, tools: KeepTools): Promise<void> {
  const { charts } = driversOf(tools.parts, tools.driver).cluster;
  if (charts === undefined || runtime.desired !== 'RUNNING') return;
  const state = await readState(charts, runtime, tools);
  if (state === null) return;
  if (term !== null) follow(runtime, state, { logs: tools.logs, term });
  const status = statusOf(state);
  if (status === runtime.running_status && state.ready === runtime.running_instances) return;
  await tools.parts.database.run(setRunningStatus, [runtime.service_id, status, state.ready]);
}

/**
 * Returns the state of a chart; null if it cannot be read. A problem with one chart, or missing permission to read it,
 * does not affect the others.
 */
async function readState(charts: ClusterCharts, runtime: KeptService, { parts, stop }: KeepTools): Promise<ChartState | null> {
  try {
    return await charts.state(refOfRuntime(parts, runtime), stop);
  } catch (error) {
    if (stop.aborted || error instanceof ClusterUnreachable) throw error;
    parts.log.warn({ err: error, service: runtime.service_id }, 'the keeper could not check a chart');
    if (runtime.running_status !== null) await parts.database.run(setRunningStatus, [runtime.service_id, null, null]);
    return null;
  }
}

function follow(
  { release_id: release, rollout, config }: KeptService,
  { instances }: ChartState,
  { logs, term }: { readonly logs: KeepTools['logs']; readonly term: AbortSignal },
): void {
  if (config === null || release === null) return;
  for (const instance of instances) logs.follow({ ...instance, release, rollout: rollout ?? '' }, config, term);
}

function statusOf({ wanted, ready }: ChartState): 'RUNNING' | 'WARNING' | 'ERROR' {
  if (ready >= wanted) return 'RUNNING';
  return ready === 0 ? 'ERROR' : 'WARNING';
}
