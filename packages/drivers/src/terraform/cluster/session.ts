import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { retry } from '@davit/base';
import type { CallContext } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import type { TerraformOutput, TerraformResource, TerraformRun, TerraformSession } from '../../terraform-driver.ts';
import {
  erroredFile,
  failureOf,
  initArguments,
  outputsOf,
  planArguments,
  planFile,
  quoted,
  versionOf,
  withCommon,
  wrongVersion,
  type CommandResult,
} from '../commands.ts';
import { resourcesOf } from '../resources.ts';
import { smallFiles } from './files.ts';
import { followCommand, outOfMemory, refuseEnded, type FollowedEnd, type FollowedRun } from './follow.ts';
import { programs } from './pod.ts';
import { commandScript, locations, runFolder, sourceFolder } from './supervisor.ts';

/** Options of a command. */
interface CommandOptions {
  /**
   * Identifies the command: a command with this key that has already started is resumed. Absent: each call starts a new
   * command.
   */
  readonly key?: string;
  readonly good?: readonly number[];
  /** The output is read and not logged. */
  readonly quiet?: boolean;
}

const rescueMilliseconds = 120_000;
const stopMilliseconds = 20_000;
const stopAttempts = 6;
const maxOutputBytes = 64 * 1024 * 1024;

/**
 * A configuration under work in a pod. All progress is stored in the pod: `init`, `plan` and `apply` start once in a
 * run, and later calls follow the started command to its end.
 */
export class ClusterSession implements TerraformSession {
  readonly isNew: boolean;
  readonly #run: TerraformRun;
  readonly #location: FollowedRun;
  /** Keys of the commands that earlier sessions started. */
  readonly #begun: ReadonlySet<string>;
  /** Timestamp up to which the output has been read. */
  #until: string | null = null;

  /** `begun`: keys of the commands that earlier sessions started; null if there was no earlier session. */
  constructor(run: TerraformRun, ref: FollowedRun, begun: ReadonlySet<string> | null) {
    this.#run = run;
    this.#location = ref;
    this.isNew = begun === null;
    this.#begun = begun ?? new Set();
  }

  /** Fails with TERRAFORM_VERSION_UNAVAILABLE if the image does not have the requested version. */
  async checkVersion(image: string, call: CallContext): Promise<void> {
    const found = versionOf(await this.#output('version', ['-json'], call));
    if (found !== null && found === this.#run.version) return;
    throw wrongVersion(this.#run, found ?? 'none', `the image ${image}`);
  }

  async init(call: CallContext): Promise<void> {
    await this.#command('init', initArguments(this.#run), call, { key: 'init' });
  }

  async plan(call: CallContext, { destroy = false } = {}): Promise<{ readonly changes: boolean }> {
    const args = planArguments(`${runFolder}/${planFile}`, destroy);
    const { code } = await this.#command('plan', args, call, { key: 'plan', good: [0, 2] });
    return { changes: code === 2 };
  }

  async apply(call: CallContext): Promise<void> {
    try {
      await this.#command('apply', [`${runFolder}/${planFile}`], call, { key: 'apply' });
    } catch (error) {
      const isLeft = call.signal.aborted && call.leave?.aborted === true;
      // After a retryable error the command keeps running, and the next attempt follows it.
      const goesOn = !call.signal.aborted && error instanceof DriverError && error.retryable;
      if (!isLeft && !goesOn && call.force?.aborted !== true) await this.#storeErrored(call);
      throw error;
    }
  }

  /** Always false: a started apply is followed, and never started again. */
  wasApplied(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async outputs(call: CallContext): Promise<readonly TerraformOutput[]> {
    return outputsOf(await this.#output('output', ['-json'], call));
  }

  async resources(call: CallContext): Promise<readonly TerraformResource[]> {
    return resourcesOf(await this.#output('show', ['-json'], call));
  }

  pull(call: CallContext): Promise<string> {
    return this.#output('state', ['pull'], call);
  }

  async push(state: string, call: CallContext): Promise<void> {
    const moved = 'moved.tfstate';
    await this.#put([{ name: moved, text: state }], call.signal);
    await this.#command('state', ['push', `${runFolder}/${moved}`], call);
  }

  /** The session holds no resources. The driver's `remove` deletes the pod. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Stores a state that a command could not store. If that fails too, keeps the state on this machine. */
  async #storeErrored(call: CallContext): Promise<void> {
    const signal = AbortSignal.timeout(rescueMilliseconds);
    const { cluster, instanceId } = this.#location;
    const errored = posix.join(sourceFolder, this.#run.rootPath, erroredFile);
    const text = await cluster.readFile(instanceId, { path: errored, maxBytes: maxOutputBytes }, signal);
    if (text === null) return;
    call.log('A command could not store its state; storing it now.');
    try {
      await this.#command('state', ['push', '-force', errored], { ...call, signal });
    } catch {
      // The failure of this command is already in the log. The file keeps later code from deleting the folder.
      const folder = join(this.#run.folder, 'source', this.#run.rootPath);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, erroredFile), text, { mode: 0o600 });
    }
  }

  async #output(command: string, args: readonly string[], call: CallContext): Promise<string> {
    const { key } = await this.#command(command, args, call, { quiet: true });
    const { cluster, instanceId } = this.#location;
    const text = await cluster.readFile(instanceId, { path: locations.output(key), maxBytes: maxOutputBytes }, call.signal);
    if (text !== null) return text;
    throw new DriverError({ cause: 'TERRAFORM_FAILED', message: `the output of terraform ${command} could not be read` });
  }

  async #command(
    command: string,
    args: readonly string[],
    call: CallContext,
    { key = `${command}-${randomUUID()}`, good = [0], quiet = false }: CommandOptions = {},
  ): Promise<CommandResult & { readonly key: string }> {
    call.signal.throwIfAborted();
    const hasBegun = this.#begun.has(key);
    if (hasBegun) call.log(`terraform ${command} had already started: its output follows from the beginning.`);
    else await this.#begin(key, withCommon(command, args), { quiet, signal: call.signal });
    const end = await this.#follow(key, hasBegun ? null : this.#until, call);
    this.#until = end.until;
    call.signal.throwIfAborted();
    if (good.includes(end.code)) return { ...end, key };
    const { code, lines, isShort } = end;
    throw isShort ? outOfMemory(this.#location, { lines, exit: { code, outOfMemory: true } }) : failureOf(command, end);
  }

  async #begin(
    key: string,
    words: readonly string[],
    { quiet, signal }: { readonly quiet: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const line = [programs[this.#run.engine], ...words].map(quoted).join(' ');
    const folder = quoted(posix.join(sourceFolder, this.#run.rootPath));
    const script = commandScript(line, { folder, output: quiet ? locations.output(key) : null });
    const files = [
      { name: locations.script(key), text: script },
      { name: locations.go(key), text: '' },
    ];
    try {
      await this.#put(files, signal);
    } catch (error) {
      // A pod that has ended accepts no commands; the reason why it ended is the better error.
      signal.throwIfAborted();
      await refuseEnded(this.#location, [], signal);
      throw error;
    }
  }

  /**
   * Follows a command to its end. If the call is aborted, sends a stop to the command and follows it until it has ended
   * or its grace period is over.
   */
  async #follow(key: string, since: string | null, call: CallContext): Promise<FollowedEnd> {
    const { signal, leave, force } = call;
    const enough = new AbortController();
    const giveUp = (): void => enough.abort();
    let patience: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      if (leave?.aborted === true || force?.aborted === true) return giveUp();
      patience = setTimeout(giveUp, this.#run.limits.graceSeconds * 1_000 + stopMilliseconds);
      call.log('Stopping Terraform: it finishes what is under way and stores its state.');
      void this.#requestStop(key, enough.signal).catch(giveUp);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    for (const other of [leave, force]) other?.addEventListener('abort', () => signal.aborted && giveUp(), { once: true });
    try {
      return await followCommand(this.#location, { key, since }, (line) => call.log(line), enough.signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(patience);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Retries, so that a node that is busy for a moment does not turn a cancel into one that leaves the command running.
   */
  #requestStop(key: string, enough: AbortSignal): Promise<void> {
    return retry(
      {
        attempts: stopAttempts,
        firstPauseMilliseconds: 500,
        maximumPauseMilliseconds: 4_000,
        signal: enough,
        isRetryable: (error) => error instanceof DriverError && error.retryable && !enough.aborted,
        onRetry: () => undefined,
      },
      () =>
        this.#put([{ name: locations.stop(key), text: '' }], AbortSignal.any([enough, AbortSignal.timeout(stopMilliseconds)])),
    );
  }

  #put(files: readonly { readonly name: string; readonly text: string }[], signal: AbortSignal): Promise<void> {
    const { cluster, instanceId } = this.#location;
    return cluster.upload(instanceId, { folder: runFolder, archive: smallFiles(files) }, signal);
  }
}
