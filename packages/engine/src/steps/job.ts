import { Sensitive } from '@davit/base';
import type { Workload } from '@davit/drivers';
import { leaveOthers } from '../clusters/leave.ts';
import { nextRun } from '../jobs/cron.ts';
import { outputFolder, publishOutputs } from '../jobs/outputs.ts';
import { awaitRun, longestRunSeconds } from '../jobs/run.ts';
import type { JobCommand, JobEvent, JobRelease } from '../model.ts';
import { startWithImage } from '../registry-image.ts';
import { removeSchedule, setSchedule } from '../store/jobs.ts';
import * as store from '../store/journal.ts';
import { terminationGrace } from '../workload.ts';
import { configOf, driverSet, noteHere, workloadOf, type Step, type StepContext, type Task } from './step.ts';

/*
 * A job runs to its end. `launch` starts its run, `complete` waits for the end, `clear` takes away what is left of it. That they are
 * three keeps a run from happening twice: once a run is recorded as launched it is only ever looked at, and its container stays
 * until its end is recorded.
 */

/** Starts the first attempt of the run. */
export const launch: Step = {
  name: 'launch',
  deadlineSeconds: 300,
  cancelable: true,
  async run(context) {
    const { task, call, parts } = context;
    const { event } = running(task);
    call.log(`Running ${eventWords[event]} of the job.`);
    const workload = await attemptWorkload(context, 0);
    const image = { driver: task.driver, serviceName: task.name, source: configOf(task).source, imageName: task.imageName };
    await noteHere(context);
    await startWithImage(parts, image, call, () => driverSet(context).cluster.start(workload, call));
    task.launchedAt = new Date().toISOString();
    return { launchedAt: task.launchedAt };
  },
  resume(task, output) {
    task.launchedAt = output.launchedAt ?? null;
  },
};

const eventWords: Readonly<Record<JobEvent, string>> = {
  START: 'on_start',
  STOP: 'on_stop',
  DELETE: 'on_delete',
  CRON: 'the scheduled command',
};

/** Waits for the end of the run, with its restarts. */
export const complete: Step = {
  name: 'complete',
  // The run has a limit of its own, which says more than this one.
  deadlineSeconds: ({ task }) => (running(task).job.maximumSeconds ?? longestRunSeconds) + 600,
  cancelable: 'FORCED',
  async run(context) {
    const { task, parts, call } = context;
    const instance = await awaitRun({
      parts,
      driver: task.driver,
      service: { id: task.serviceId, name: task.name },
      rollout: task.rollout,
      config: configOf(task),
      launchedAt: task.launchedAt,
      workload: (attempt) => attemptWorkload(context, attempt),
      call,
    });
    call.log('The job ended with exit code 0.');
    const told = await publishOutputs({
      parts,
      driver: task.driver,
      serviceId: task.serviceId,
      instance,
      signal: call.signal,
    });
    if (told !== null) call.log(told);
    return {};
  },
};

/** Removes the containers of a run that has ended. Their output is stored. */
export const clear: Step = {
  name: 'clear',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, call } = context;
    await driverSet(context).cluster.retire({ service: task.serviceId, rollout: task.rollout }, 0, call);
    return {};
  },
};

/** Writes down what is deployed. From here on later events, and the schedule, run this release. */
export const arm: Step = {
  name: 'arm',
  deadlineSeconds: 120,
  cancelable: false,
  async run({ task, deployment, journal, call, parts }) {
    // A run that was asked for by itself leaves the rest as it is: what was stopped stays so.
    const isArmed = task.forcedEvent === null || task.former?.desired === 'RUNNING';
    const schedule = configOf(task).job?.schedule ?? null;
    const next = isArmed && schedule !== null ? nextRun(schedule, new Date()) : null;
    const runtime = [
      task.serviceId,
      deployment.organization_id,
      deployment.project_id,
      deployment.environment_id,
      task.driver,
      isArmed ? 'RUNNING' : 'STOPPED',
      task.releaseId,
      task.rollout,
      task.configHash,
      isArmed ? 'COMPLETED' : 'STOPPED',
      null,
    ];
    await journal.transaction(async (tx) => {
      await journal.write(store.setRuntime, runtime, tx);
      if (next === null) await journal.writeAny(removeSchedule, [task.serviceId], tx);
      else await journal.write(setSchedule, [task.serviceId, next], tx);
    });
    await leaveOthers(parts, task, terminationGrace(task.former?.config ?? null, parts.settings), call);
    if (next !== null) call.log(`The schedule is armed; the next run is at ${next.toISOString()}.`);
    return {};
  },
};

function running(task: Task): { readonly job: JobRelease; readonly event: JobEvent; readonly command: JobCommand } {
  const { job } = configOf(task);
  const command = job === undefined || task.event === null ? undefined : job.events[task.event];
  if (job === undefined || task.event === null || command === undefined) throw new Error(`${task.name} has nothing to run`);
  return { job, event: task.event, command };
}

async function attemptWorkload(context: StepContext, attempt: number): Promise<Workload> {
  const { event, command } = running(context.task);
  const workload = await workloadOf(context, { secrets: true });
  return toAttempt(workload, { event, command, attempt, builtInPrefix: context.parts.settings.builtInPrefix });
}

/** What a run of an event is, as a workload: the instance whose index is the number of the attempt. */
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
