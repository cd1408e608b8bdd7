import type { Queryable } from '@davit/db';
import type { Workload } from '@davit/drivers';
import { leaveOthers } from '../../former-clusters/leave-cluster.ts';
import { disarm, disarmOthers, putSuspended, quiet, schedulesOf, toClusterSchedule } from '../../jobs/arming.ts';
import { toAttempt } from '../../jobs/attempt.ts';
import { nextRun, type CronSchedule } from '../../jobs/cron.ts';
import { publishOutputs } from '../../jobs/outputs.ts';
import { awaitRun, longestRunSeconds } from '../../jobs/run.ts';
import type { JobCommand, JobEvent, JobRelease } from '../../model.ts';
import { startWithImage } from '../../workload/registry-image.ts';
import { hasOwnRun, jobClock, lockSchedule, removeSchedule, setSchedule } from '../../store/jobs.ts';
import { terminationGrace } from '../../workload/workload.ts';
import { retireOwn } from '../../steps/retire-own.ts';
import {
  configOf,
  driverSet,
  hadSchedule,
  noteDeployed,
  noteHere,
  outputOf,
  ownerOf,
  workloadOf,
  type Deployed,
  type Step,
  type StepContext,
  type StepOutput,
} from '../../steps/step.ts';
import { eventOf } from './plan.ts';

/*
 * A job runs to its end. `launch` starts its run, `complete` waits for the end, `clear` removes its remains. These are
 * three steps so that a run does not happen twice: once a run is recorded as launched it is only observed, and its
 * container stays until its end is recorded.
 */

// Same deadline in seconds as `start` has for lasting instances. On Kubernetes, nodes pull during this step, and a
// cluster with autoscaled nodes is waited for, which alone may take ten minutes.
const launchSeconds = 1_800;

interface Launched extends StepOutput {
  /** Time at which the run was started, by the clock of the database, ISO 8601. */
  readonly launchedAt: string;
}

/** Starts the first attempt of the run. */
export const launch: Step<Launched> = {
  name: 'launch',
  metric: 'DEPLOYMENT',
  // A run that the cluster has started by its schedule is waited for.
  deadlineSeconds: (context) => {
    const { event, job } = running(context);
    return launchSeconds + (event === 'CRON' ? (job.maximumSeconds ?? longestRunSeconds) : 0);
  },
  cancelable: true,
  async run(context) {
    const { task, call, parts } = context;
    const { event } = running(context);
    call.log(`Running ${eventWords[event]} of the job.`);
    const workload = await attemptWorkload(context, 0);
    const image = { driver: task.driver, serviceName: task.name, source: configOf(task).source, imageName: task.imageName };
    await noteHere(context);
    const schedule = task.former?.config?.job?.schedule ?? null;
    if (event === 'CRON') await quiet(parts, { driver: task.driver, owner: ownerOf(context), schedule }, call);
    await startWithImage(parts, image, call, () => driverSet(context).cluster.start(workload, call));
    return { launchedAt: (await parts.database.one(jobClock)).now };
  },
  undo: retireOwn,
};

const eventWords: Readonly<Record<JobEvent, string>> = {
  START: 'on_start',
  STOP: 'on_stop',
  DELETE: 'on_delete',
  CRON: 'the scheduled command',
};

/** Waits for the end of the run, including its restarts. */
export const complete: Step = {
  name: 'complete',
  metric: 'DEPLOYMENT',
  // The run has its own limit, which reports more than this deadline.
  deadlineSeconds: (context) => (running(context).job.maximumSeconds ?? longestRunSeconds) + 600,
  cancelable: 'FORCED',
  async run(context) {
    const { task, parts, call } = context;
    const instance = await awaitRun({
      parts,
      driver: task.driver,
      service: { id: task.serviceId, name: task.name },
      rollout: task.rollout,
      config: configOf(task),
      launchedAt: outputOf(task, launch)?.launchedAt ?? null,
      workload: async (attempt) => {
        // The attempt is started next, but another owner may have ended this run meanwhile.
        await context.journal.hold();
        return attemptWorkload(context, attempt);
      },
      call,
    });
    call.log('The job ended with exit code 0.');
    const reported = await publishOutputs({
      parts,
      driver: task.driver,
      serviceId: task.serviceId,
      instance,
      signal: call.signal,
    });
    if (reported !== null) call.log(reported);
    return {};
  },
};

/** Removes the containers of a finished run. Their output is stored. */
export const clear: Step = {
  name: 'clear',
  metric: 'DEPLOYMENT',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, call } = context;
    await driverSet(context).cluster.retire({ service: task.serviceId, rollout: task.rollout }, 0, call);
    return {};
  },
};

/** Records the deployed release. From here on later events and the schedule run this release. */
export const arm: Step = {
  name: 'arm',
  metric: 'DEPLOYMENT',
  deadlineSeconds: 120,
  cancelable: false,
  async run(context) {
    const { task, deployment, journal, call, parts } = context;
    // An explicitly requested run does not change the rest: a stopped job stays stopped.
    const isArmed = task.forcedEvent === null || task.former?.desired === 'RUNNING';
    const schedule = configOf(task).job?.schedule ?? null;
    const timed = isArmed ? schedule : null;
    const recurs = timed !== null && (await nextDue(parts.database, timed)) !== null;
    const deployed: Deployed = isArmed
      ? { desired: 'RUNNING', runningStatus: 'COMPLETED', instances: null }
      : { desired: 'STOPPED', runningStatus: 'STOPPED', instances: null };
    const owner = { environment: deployment.environment_id, service: task.serviceId };
    const byCluster = recurs && (await putOnCluster(context));
    if (!byCluster && hadSchedule(task)) await disarm(parts, task.driver, owner, call.signal);
    if (hadSchedule(task)) await disarmOthers(parts, task.driver, owner, call);
    let next = null as Date | null;
    await journal.transaction(async (tx) => {
      await noteDeployed(context, deployed, tx);
      // The time is read after the lock is acquired. Earlier times belong to the scheduler, and must not become due
      // again.
      await tx.maybe(lockSchedule, [task.serviceId]);
      next = timed === null ? null : await nextDue(tx, timed);
      const due = byCluster ? [task.serviceId, 'infinity', task.driver] : [task.serviceId, next, null];
      if (next === null) await journal.writeAny(removeSchedule, [task.serviceId], tx);
      else await journal.write(setSchedule, due, tx);
    });
    // If a run that Davit started is under way, the keeper of schedules resumes the schedule after its end.
    const isFree = byCluster && !(await parts.database.one(hasOwnRun, [task.serviceId])).has;
    if (isFree) await schedulesOf(parts, task.driver)?.resume({ ...owner, rollout: task.rollout }, call.signal);
    await leaveOthers(parts, task, terminationGrace(task.former?.config ?? null, parts.settings), call);
    const who = byCluster ? 'on the cluster, which starts its runs' : 'armed';
    if (next !== null) call.log(`The schedule is ${who}; the next run is at ${next.toISOString()}.`);
    return {};
  },
};

/** Returns the next due time by the clock that the scheduler uses, which is not this machine's. */
async function nextDue(db: Queryable, schedule: CronSchedule): Promise<Date | null> {
  return nextRun(schedule, new Date((await db.one(jobClock)).now));
}

/**
 * Puts the task's schedule on the cluster, suspended until the deployment is recorded. Returns whether the cluster
 * starts the runs.
 */
async function putOnCluster(context: StepContext): Promise<boolean> {
  const { task, parts, call } = context;
  if (schedulesOf(parts, task.driver) === undefined) return false;
  await noteHere(context);
  const workload = await workloadOf(context, { secrets: true });
  const schedule = toClusterSchedule(workload, configOf(task), parts.settings);
  return schedule !== null && putSuspended(parts, task.driver, schedule, call);
}

interface Running {
  readonly job: JobRelease;
  readonly event: JobEvent;
  readonly command: JobCommand;
}

/** Returns the event of the job that the deployment runs. */
function running({ task, deployment }: Pick<StepContext, 'task' | 'deployment'>): Running {
  const { job } = configOf(task);
  const event = eventOf(deployment.action, job, task.forcedEvent);
  const command = job === undefined || event === null ? undefined : job.events[event];
  if (job === undefined || event === null || command === undefined)
    throw new Error(`${task.name} has no command or image to run`);
  return { job, event, command };
}

async function attemptWorkload(context: StepContext, attempt: number): Promise<Workload> {
  const { event, command } = running(context);
  const workload = await workloadOf(context, { secrets: true });
  return toAttempt(workload, { event, command, attempt, settings: context.parts.settings });
}
