import type { Instance } from '@davit/drivers';
import { retireInstances, type KeepTools, type Look } from '../../keeper/keep-tools.ts';
import type { KeptService } from '../../keeper/kept-service.ts';
import { setRunningStatus } from '../../store/journal.ts';

/**
 * Removes the instances of a job that belong to neither a run nor a deployment: a crash left them. Nothing restarts the
 * instances of a job.
 */
export async function keepJob(runtime: KeptService, { seen }: Look, tools: KeepTools): Promise<void> {
  const { parts } = tools;
  // Runs that the cluster started are recorded and removed by the scheduler.
  const isWanted = ({ rollout, scheduled }: Instance): boolean =>
    seen.jobRuns.has(rollout) || (scheduled === true && runtime.desired === 'RUNNING');
  const left = (seen.byService.get(runtime.service_id) ?? []).filter((instance) => !isWanted(instance));
  await retireInstances(tools, runtime.service_id, left, parts.settings.terminationGraceSeconds);
  // The status was cleared while the cluster was unreachable.
  if (runtime.running_status === null && runtime.desired !== 'NONE')
    await parts.database.run(setRunningStatus, [runtime.service_id, 'COMPLETED', null]);
}
