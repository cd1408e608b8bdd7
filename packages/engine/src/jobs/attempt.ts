import { Sensitive } from '@davit/base';
import type { Workload } from '@davit/drivers';
import type { JobCommand, JobEvent } from '../model.ts';
import type { EngineSettings } from '../shared/parts.ts';
import { outputFolders } from './outputs.ts';

export type AttemptSettings = Pick<EngineSettings, 'builtInPrefix' | 'clientTexts'>;

/** Returns the workload of one attempt of a job event: the instance whose index is the number of the attempt. */
export function toAttempt(
  workload: Workload,
  run: {
    readonly event: JobEvent;
    readonly command: JobCommand;
    readonly attempt: number;
    readonly settings: AttemptSettings;
  },
): Workload {
  const action = { name: `${run.settings.builtInPrefix}JOB_ACTION`, value: new Sensitive(run.event) };
  return {
    ...workload,
    entrypoint: run.command.entrypoint,
    arguments: run.command.arguments,
    environment: [...workload.environment, action],
    folders: outputFolders(run.settings),
    runsOnce: true,
    firstInstance: run.attempt,
    instances: run.attempt + 1,
  };
}
