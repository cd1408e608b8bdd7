import { Sensitive } from '@davit/base';
import type { Workload } from '@davit/drivers';
import type { JobCommand, JobEvent } from '../model.ts';
import { outputFolder } from './outputs.ts';

/** Returns the workload of one attempt of a job event: the instance whose index is the number of the attempt. */
export function toAttempt(
  workload: Workload,
  run: {
    readonly event: JobEvent;
    readonly command: JobCommand;
    readonly attempt: number;
    readonly builtInPrefix: string;
  },
): Workload {
  const action = { name: `${run.builtInPrefix}JOB_ACTION`, value: new Sensitive(run.event) };
  return {
    ...workload,
    entrypoint: run.command.entrypoint,
    arguments: run.command.arguments,
    environment: [...workload.environment, action],
    folders: [outputFolder],
    runsOnce: true,
    firstInstance: run.attempt,
    instances: run.attempt + 1,
  };
}
