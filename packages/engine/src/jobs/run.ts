import { backoffMilliseconds, pause } from '@davit/base';
import { DriverError, initRefusal, type CallContext, type Instance, type Workload } from '@davit/drivers';
import { LogCollector } from '../output/log-collector.ts';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { secondsSince } from '../store/jobs.ts';
import { lastLogLines } from '../store/logs.ts';
import type { RunTurns } from './turns.ts';

/** Time limit of jobs that name none, because nothing may run forever. */
export const longestRunSeconds = 86_400;

const evidenceLines = 50;
// Usually the end of the output shows that a process exited; the looks are for an engine that does not end the output.
// The longer a run takes, the less often it is looked at (pauses of a twentieth of its duration), because looks are the
// main cost of many long runs. A cluster keeps the outputs of a run for at least half a minute.
const lookEveryMilliseconds = 2_000;
const longestPauseOfLooksMilliseconds = 10_000;
const pauseOfLooksShare = 0.05;
const settleMilliseconds = 50;
// A cluster reports times in whole seconds, and counts from the start of the pod.
const lateMarginMilliseconds = 1_000;
const firstPauseMilliseconds = 500;
const maximumPauseMilliseconds = 10_000;

/**
 * A run of a job that was started. Each attempt is an instance of the same rollout, and its index is the number of the
 * attempt.
 */
export interface StartedRun {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly service: { readonly id: string; readonly name: string };
  readonly rollout: string;
  readonly config: ReleaseConfig;
  /**
   * Time from which the limit counts, by the clock of the database, ISO 8601; null if unknown, then the limit counts
   * from now.
   */
  readonly launchedAt: string | null;
  /** Returns the workload of an attempt. Omitted if the cluster starts the attempts. */
  workload?(attempt: number): Promise<Workload>;
  /**
   * Time at which the cluster started the run, by the clock of the cluster, ISO 8601. Only set if the cluster starts
   * the attempts.
   */
  readonly begunAt?: string | null;
  /** The turns of the cluster, which limit the load of many runs. If omitted, nothing waits for other runs. */
  readonly turns?: RunTurns;
  readonly call: CallContext;
}

/**
 * Waits until a run has succeeded, and stores its output meanwhile. Returns the successful attempt. The state of the
 * run is read from the cluster: exited attempts stay there until the run is cleared, so after a crash no attempt is
 * repeated or miscounted. Fails with JOB_FAILED, JOB_TIMEOUT or OUT_OF_MEMORY, with the last lines. The caller must
 * remove the instances of the run.
 *
 * Each run costs one connection for its output, as each instance of a service does, and an occasional look.
 */
export async function awaitRun(run: StartedRun): Promise<Instance> {
  const collector = new LogCollector(run.parts, run.driver);
  try {
    return await untilSuccess(run, collector);
  } finally {
    await collector.stop();
  }
}

async function untilSuccess(run: StartedRun, collector: LogCollector): Promise<Instance> {
  const { job } = run.config;
  if (job === undefined) throw new Error(`${run.service.name} is not a job`);
  const limitSeconds = job.maximumSeconds ?? longestRunSeconds;
  const began = performance.now() - (await ranMilliseconds(run));
  const until = began + limitSeconds * 1_000;
  let output: Output | null = null;
  for (;;) {
    const instance = await latestAttempt(run);
    if (instance.state === 'EXITED') {
      await collector.followToEnd(instance, run.config);
      if (instance.exit?.code === 0) return instance;
      if (isLate(run, instance, limitSeconds)) throw await late(run, instance, limitSeconds);
      if (run.workload === undefined || instance.index >= job.maximumRestarts) throw await failed(run, instance);
      await restart(run, instance, until);
    } else if (run.workload === undefined && instance.state === 'CREATED') {
      await pause(lookEveryMilliseconds, run.call.signal);
    } else {
      output = followed(collector.followToEnd(instance, run.config), output, run.call.signal);
      await pause(Math.min(pauseOfLooks(performance.now() - began), Math.max(0, until - performance.now())), output.over);
    }
    run.call.signal.throwIfAborted();
    if (performance.now() >= until) await refuseLate(run, collector, limitSeconds);
  }
}

interface Output {
  readonly done: Promise<void>;
  /** Aborted when a look is needed: the output has ended, or the call was aborted. */
  readonly over: AbortSignal;
}

/**
 * Returns one `Output` for each reading. Waiting for `done` itself at each look would attach a handler to it that stays
 * until the run ends.
 */
function followed(done: Promise<void>, former: Output | null, signal: AbortSignal): Output {
  if (former?.done === done) return former;
  const ended = new AbortController();
  // The output ends a moment before the engine reports that the process has exited.
  void done.then(() => pause(settleMilliseconds, signal)).then(() => ended.abort());
  return { done, over: AbortSignal.any([signal, ended.signal]) };
}

function pauseOfLooks(ranMilliseconds: number): number {
  return Math.min(longestPauseOfLooksMilliseconds, Math.max(lookEveryMilliseconds, ranMilliseconds * pauseOfLooksShare));
}

/**
 * Returns how long the run has taken, measured once by the clock that recorded its launch. The clock of this machine
 * may differ.
 */
async function ranMilliseconds({ parts, launchedAt }: StartedRun): Promise<number> {
  if (launchedAt === null) return 0;
  return (await parts.database.one(secondsSince, [launchedAt])).seconds * 1_000;
}

async function latestAttempt(run: StartedRun): Promise<Instance> {
  const { signal } = run.call;
  const selector = { service: run.service.id, rollout: run.rollout };
  const look = (): Promise<readonly Instance[]> => driversOf(run.parts, run.driver).cluster.observe(selector, signal);
  const instances = await (run.turns === undefined ? look() : run.turns.looks.use(look, signal));
  const latest = instances.toSorted((a, b) => b.index - a.index)[0];
  if (latest !== undefined) return latest;
  throw new DriverError({
    cause: 'JOB_FAILED',
    message: `the container of ${run.service.name} was removed while it ran, so its result is unknown; Davit does not run it again by itself`,
    hint: 'Check whether the job did its work, and deploy it again if it did not. Something other than Davit removed the container.',
  });
}

async function restart(run: StartedRun, ended: Instance, until: number): Promise<void> {
  const attempt = ended.index + 1;
  const milliseconds = backoffMilliseconds(attempt, firstPauseMilliseconds, maximumPauseMilliseconds);
  run.call.log(`The process ended with ${endOf(ended)}; restart ${attempt} of ${run.config.job?.maximumRestarts ?? 0}.`);
  await pause(Math.min(milliseconds, Math.max(0, until - performance.now())), run.call.signal);
  run.call.signal.throwIfAborted();
  const start = async (): Promise<void> => {
    if (performance.now() >= until || run.workload === undefined) return;
    await driversOf(run.parts, run.driver).cluster.start(await run.workload(attempt), run.call);
  };
  await (run.turns === undefined ? start() : run.turns.changes.use(start, run.call.signal));
}

async function failed(run: StartedRun, instance: Instance): Promise<DriverError> {
  const { exit } = instance;
  const attempts = instance.index === 0 ? '' : ` at the last of ${instance.index + 1} attempts`;
  const lines = await linesOf(run, instance);
  const refusal = initRefusal(lines);
  if (refusal !== null)
    return new DriverError({
      cause: 'START_FAILED',
      message: `${run.service.name} could not be started: ${refusal}`,
      evidence: { lines },
    });
  return new DriverError({
    cause: exit?.outOfMemory === true ? 'OUT_OF_MEMORY' : 'JOB_FAILED',
    message: `${run.service.name} ended with ${endOf(instance)}${attempts}`,
    evidence: {
      lines,
      ...(exit !== null && { exit: { code: exit.code, outOfMemory: exit.outOfMemory } }),
    },
  });
}

/** Throws JOB_TIMEOUT, unless the run succeeded at the last moment. */
async function refuseLate(run: StartedRun, collector: LogCollector, limitSeconds: number): Promise<void> {
  const instance = await latestAttempt(run);
  if (instance.state === 'EXITED' && instance.exit?.code === 0) return;
  // The last lines are stored before they are read as evidence.
  await collector.stop();
  throw await late(run, instance, limitSeconds);
}

async function late(run: StartedRun, instance: Instance, limitSeconds: number): Promise<DriverError> {
  return new DriverError({
    cause: 'JOB_TIMEOUT',
    message: `${run.service.name} had not ended after ${limitSeconds} s`,
    evidence: { lines: await linesOf(run, instance) },
  });
}

/**
 * Returns whether the cluster ended the run because of its time limit while no process was watching. Both times are by
 * the clock of the cluster.
 */
function isLate({ begunAt }: StartedRun, { exit }: Instance, limitSeconds: number): boolean {
  if (exit === null || typeof begunAt !== 'string') return false;
  return Date.parse(exit.at) - Date.parse(begunAt) >= limitSeconds * 1_000 - lateMarginMilliseconds;
}

async function linesOf({ parts }: StartedRun, instance: Instance): Promise<string[]> {
  const rows = await parts.database.many(lastLogLines, [instance.id, evidenceLines]);
  return rows.map((row) => row.message).toReversed();
}

function endOf({ exit }: Instance): string {
  if (exit === null) return 'an unknown exit code';
  return exit.outOfMemory ? `exit code ${exit.code}, killed for using too much memory` : `exit code ${exit.code}`;
}
