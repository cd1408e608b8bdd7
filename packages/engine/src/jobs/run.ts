import { backoffMilliseconds } from '@davit/base';
import { DriverError, initRefusal, type CallContext, type Instance, type Workload } from '@davit/drivers';
import { LogCollector } from '../output/log-collector.ts';
import type { ReleaseConfig } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';
import { secondsSince } from '../store/jobs.ts';
import { lastLogLines } from '../store/logs.ts';
import type { RunTurns } from './turns.ts';

/** Of jobs that name no limit of their own: nothing may run for ever. */
export const longestRunSeconds = 86_400;

const evidenceLines = 50;
// The end of the output tells that a process ended; this is for an engine that does not end it. Less often the longer it runs (a twentieth of
// that), as looks are what many long runs cost; a cluster holds what a run left for half a minute at least.
const lookEveryMilliseconds = 2_000;
const longestPauseOfLooksMilliseconds = 10_000;
const pauseOfLooksShare = 0.05;
const settleMilliseconds = 50;
// A cluster tells times in whole seconds, and counts from the start of the pod.
const lateMarginMilliseconds = 1_000;
const firstPauseMilliseconds = 500;
const maximumPauseMilliseconds = 10_000;

/** A run of a job that was started. Each attempt is an instance of the same rollout, its index the number of the attempt. */
export interface StartedRun {
  readonly parts: EngineParts;
  readonly driver: string;
  readonly service: { readonly id: string; readonly name: string };
  readonly rollout: string;
  readonly config: ReleaseConfig;
  /** From when its limit counts, by the clock of the database, ISO 8601; null: unknown, it counts from now. */
  readonly launchedAt: string | null;
  /** What an attempt is started with. Left out: the cluster starts them. */
  workload?(attempt: number): Promise<Workload>;
  /** When the cluster began it, by its own clock, ISO 8601. Of a run whose attempts the cluster starts. */
  readonly begunAt?: string | null;
  /** At its cluster, where many runs are waited for at once. Left out: nothing of it waits for others. */
  readonly turns?: RunTurns;
  readonly call: CallContext;
}

/**
 * Waits until a run has succeeded, and stores its output meanwhile; answers the attempt that did. How far it is, the cluster says: ended attempts stay there until
 * the run is cleared, so that whoever goes on after a crash neither repeats nor miscounts one. Fails with JOB_FAILED, JOB_TIMEOUT or
 * OUT_OF_MEMORY with the last lines; what is left of the run is the caller's to remove.
 *
 * That costs a connection on which the output comes, as each instance of a service does, and a look now and then.
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
  if (job === undefined) throw new Error(`${run.service.name} is no job`);
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
  /** Aborted when there is something to look at: the output has ended, or the run is let go of. */
  readonly over: AbortSignal;
}

/** One for each reading: to wait for `done` itself with each look would leave something at it that stays until the run ends. */
function followed(done: Promise<void>, former: Output | null, signal: AbortSignal): Output {
  if (former?.done === done) return former;
  const ended = new AbortController();
  // The output ends a moment before the engine says that the process did.
  void done.then(() => pause(settleMilliseconds, signal)).then(() => ended.abort());
  return { done, over: AbortSignal.any([signal, ended.signal]) };
}

function pauseOfLooks(ranMilliseconds: number): number {
  return Math.min(longestPauseOfLooksMilliseconds, Math.max(lookEveryMilliseconds, ranMilliseconds * pauseOfLooksShare));
}

/** For how long it has run, read once by the clock that its launch was noted by: this machine's may be another. */
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
    message: `the container of ${run.service.name} was removed while it ran, so nobody knows how it ended; it is not run again by itself`,
    hint: 'Look whether the job did its work, and deploy it again if it did not. Something else than Davit removed the container.',
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

/** JOB_TIMEOUT, unless the run succeeded in the last moment. */
async function refuseLate(run: StartedRun, collector: LogCollector, limitSeconds: number): Promise<void> {
  const instance = await latestAttempt(run);
  if (instance.state === 'EXITED' && instance.exit?.code === 0) return;
  // Its last lines are stored before they are read as evidence.
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

/** Whether the cluster has ended a run that took too long, while nobody else looked. Both times are the cluster's. */
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
