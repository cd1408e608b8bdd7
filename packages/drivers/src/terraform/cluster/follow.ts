import { abortablePause } from '@davit/base';
import type { ClusterDriver } from '../../driver.ts';
import { DriverError, FolderNotHeldError, type Evidence } from '../../errors.ts';
import type { Instance } from '../../workload.ts';
import type { CommandResult } from '../commands.ts';
import { outputLine, locations, progressOf, type CommandEnd, type Progress } from './supervisor.ts';

/** A run on a cluster. */
export interface RunRef {
  readonly cluster: ClusterDriver;
  readonly runId: string;
  readonly service: string;
  readonly instanceId: string;
}

/** A run whose commands are followed. */
export interface FollowedRun extends RunRef {
  readonly memoryMiB: number;
}

const keptLines = 60;
const maxJournalBytes = 1024 * 1024;
/**
 * Milliseconds between two reads of the journal. Output may be lost, or stall without closing its connection, so the
 * journal decides.
 */
const lookEveryMilliseconds = 10_000;
const lookAgainMilliseconds = 500;

export interface FollowedEnd extends CommandResult, CommandEnd {
  /** Timestamp up to which the output has been read. */
  readonly until: string | null;
}

/** Returns the commands of a run that have started and ended, also after its process has ended. */
export async function progress(run: RunRef, signal: AbortSignal): Promise<Progress> {
  return progressOf(await readGiven(run, { path: locations.journal, maxBytes: maxJournalBytes }, signal));
}

/**
 * Reads a file that exists only once files have been put into the pod. Returns null if it does not exist, and also
 * while nothing can have been put into the pod yet. Such a pod, whose helper may never run, cannot be resumed and
 * contains nothing worth keeping.
 */
export async function readGiven(
  { cluster, instanceId }: RunRef,
  file: { readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string | null> {
  try {
    return await cluster.readFile(instanceId, file, signal);
  } catch (error) {
    if (error instanceof FolderNotHeldError) return null;
    throw error;
  }
}

/**
 * Waits for the end of a command and passes on its lines. `since`: a timestamp in the output before the command
 * started; null: reads the output from its start. Fails with OUT_OF_MEMORY and TERRAFORM_INTERRUPTED if the process of
 * the run ends before the command.
 */
export async function followCommand(
  run: FollowedRun,
  command: { readonly key: string; readonly since: string | null },
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<FollowedEnd> {
  const reader = new OutputReader(run, command, onLine);
  for (;;) {
    await reader.read(signal);
    reader.end ??= await endOf(run, command.key, signal);
    const { end, lines, until } = reader;
    if (end !== null) return { ...end, lines, until };
    await refuseEnded(run, lines, signal);
    await abortablePause(lookAgainMilliseconds, signal);
  }
}

/**
 * Returns how a command ended; null if it has not ended, or if its node does not respond at the moment. The caller
 * checks whether the process still exists.
 */
async function endOf(run: RunRef, key: string, signal: AbortSignal): Promise<CommandEnd | null> {
  try {
    return (await progress(run, signal)).ended.get(key) ?? null;
  } catch (error) {
    signal.throwIfAborted();
    if (isTransient(error)) return null;
    throw error;
  }
}

/**
 * Returns whether the error is temporary: a node is busy or unreachable, and the command keeps running meanwhile. If
 * the whole cluster is unreachable, the deployment does the waiting.
 */
function isTransient(error: unknown): boolean {
  return error instanceof DriverError && error.code === 'ENGINE_FAILED' && error.retryable;
}

/** Reads the output of a run up to the end of one command, over as many connections as necessary. */
class OutputReader {
  readonly #location: RunRef;
  readonly #key: string;
  readonly #onLine: (line: string) => void;
  readonly lines: string[] = [];
  until: string | null;
  end: CommandEnd | null = null;
  #isOwn = false;

  constructor(run: RunRef, command: { readonly key: string; readonly since: string | null }, onLine: (line: string) => void) {
    this.#location = run;
    this.#key = command.key;
    this.#onLine = onLine;
    this.until = command.since;
  }

  /**
   * Reads until the command ends, the output ends, or some seconds have passed since the journal recorded the end of
   * the command.
   */
  async read(signal: AbortSignal): Promise<void> {
    const { cluster, instanceId } = this.#location;
    const done = new AbortController();
    const both = AbortSignal.any([signal, done.signal]);
    const watch = this.#watchJournal(done, both);
    try {
      await cluster.followLogs(
        instanceId,
        { at: this.until },
        ({ timestamp, text }) => {
          if (this.end !== null) return;
          this.#take(text);
          this.until = timestamp;
          if (this.end !== null) done.abort();
        },
        both,
      );
    } catch (error) {
      signal.throwIfAborted();
      // The next read resumes at the last position.
      if (!isTransient(error)) throw error;
    } finally {
      done.abort();
      await watch;
    }
    signal.throwIfAborted();
  }

  #take(text: string): void {
    const line = outputLine(text, this.#location.runId);
    const isMark = line.begun !== null || line.ended !== null;
    if (this.#isOwn && (!isMark || line.text !== '')) {
      this.lines.push(line.text);
      if (this.lines.length > keptLines) this.lines.shift();
      this.#onLine(line.text);
    }
    if (line.begun === this.#key) this.#isOwn = true;
    if (line.ended?.key === this.#key) this.end = line.ended;
  }

  async #watchJournal(done: AbortController, signal: AbortSignal): Promise<void> {
    let wasEnded = false;
    while (!signal.aborted) {
      try {
        await abortablePause(lookEveryMilliseconds, signal);
        const ended = (await progress(this.#location, signal)).ended.has(this.#key);
        // The last lines may arrive until the next look.
        if (ended && wasEnded) done.abort();
        wasEnded = ended;
      } catch {
        // If the cluster is unreachable, reading the output fails too, and that error is reported.
      }
    }
  }
}

export async function instanceOf({ cluster, service, runId }: RunRef, signal: AbortSignal): Promise<Instance | null> {
  return (await cluster.observe({ service, rollout: runId }, signal))[0] ?? null;
}

/** Fails as `followCommand` does if the process of a run has ended or its pod no longer exists. */
export async function refuseEnded(run: FollowedRun, lines: readonly string[], signal: AbortSignal): Promise<void> {
  const instance = await instanceOf(run, signal);
  if (instance?.state === 'RUNNING' || instance?.state === 'CREATED') return;
  const exit = instance?.exit ?? null;
  const evidence = { lines, ...(exit !== null && { exit: { code: exit.code, outOfMemory: exit.outOfMemory } }) };
  if (exit?.outOfMemory === true) throw outOfMemory(run, evidence);
  const what = exit === null ? 'its pod no longer exists' : `its pod ended with exit code ${exit.code}`;
  throw new DriverError({
    cause: 'TERRAFORM_INTERRUPTED',
    message: `the run ended before its command did: ${what}`,
    evidence,
  });
}

export function outOfMemory({ memoryMiB }: Pick<FollowedRun, 'memoryMiB'>, evidence: Evidence): DriverError {
  return new DriverError({
    cause: 'OUT_OF_MEMORY',
    message: `Terraform or one of its providers used more than the ${memoryMiB} MiB of memory and was killed`,
    hint: 'Raise job_resources.ram_mib. If the state is locked now, deploy with the action FORCE_UNLOCK before the next apply.',
    evidence,
  });
}
