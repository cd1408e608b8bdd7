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
import { followCommand, outOfMemory, refuseEnded, type FollowedEnd, type FollowedPlace } from './follow.ts';
import { programs } from './pod.ts';
import { commandScript, places, runFolder, sourceFolder } from './supervisor.ts';

/** How a command is run. */
interface CommandOptions {
  /** One of that name that has begun is the same one. Left out: it is another one each time. */
  readonly key?: string;
  readonly good?: readonly number[];
  /** Its output is read and not logged. */
  readonly quiet?: boolean;
}

const rescueMilliseconds = 120_000;
const stopMilliseconds = 20_000;
const stopAttempts = 6;
const mostOutputBytes = 64 * 1024 * 1024;

/**
 * A configuration that is worked on in a pod. What is done of it is in the pod: `init`, `plan` and `apply` are begun once in a run, and
 * whoever asks for one that has begun follows it to its end.
 */
export class ClusterSession implements TerraformSession {
  readonly isNew: boolean;
  readonly #run: TerraformRun;
  readonly #place: FollowedPlace;
  /** Commands that a session before began. */
  readonly #begun: ReadonlySet<string>;
  /** How far the output has been read. */
  #until: string | null = null;

  /** `begun`: by sessions before; null: there was none. */
  constructor(run: TerraformRun, place: FollowedPlace, begun: ReadonlySet<string> | null) {
    this.#run = run;
    this.#place = place;
    this.isNew = begun === null;
    this.#begun = begun ?? new Set();
  }

  /** TERRAFORM_VERSION_UNAVAILABLE: the image does not have the version that is asked for. */
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
      // What may pass is no end of the command: it goes on, and whoever tries again follows it.
      const goesOn = !call.signal.aborted && error instanceof DriverError && error.retryable;
      if (!isLeft && !goesOn && call.force?.aborted !== true) await this.#storeErrored(call);
      throw error;
    }
  }

  /** An apply that began is never begun again, but followed. */
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

  /** Nothing is held here; the pod goes when the driver is told to remove it. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  /** A state that a command could not store is stored now, or else kept on this machine. */
  async #storeErrored(call: CallContext): Promise<void> {
    const signal = AbortSignal.timeout(rescueMilliseconds);
    const { cluster, instanceId } = this.#place;
    const errored = posix.join(sourceFolder, this.#run.rootPath, erroredFile);
    const text = await cluster.readFile(instanceId, { path: errored, mostBytes: mostOutputBytes }, signal);
    if (text === null) return;
    call.log('A command could not store its state; that is done now.');
    try {
      await this.#command('state', ['push', '-force', errored], { ...call, signal });
    } catch {
      // Its own failure is in the log. The file says to whoever removes the folder that it is to stay.
      const folder = join(this.#run.folder, 'source', this.#run.rootPath);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, erroredFile), text, { mode: 0o600 });
    }
  }

  async #output(command: string, args: readonly string[], call: CallContext): Promise<string> {
    const { key } = await this.#command(command, args, call, { quiet: true });
    const { cluster, instanceId } = this.#place;
    const text = await cluster.readFile(instanceId, { path: places.output(key), mostBytes: mostOutputBytes }, call.signal);
    if (text !== null) return text;
    throw new DriverError({ cause: 'TERRAFORM_FAILED', message: `what terraform ${command} printed could not be read` });
  }

  async #command(
    command: string,
    args: readonly string[],
    call: CallContext,
    { key = `${command}-${randomUUID()}`, good = [0], quiet = false }: CommandOptions = {},
  ): Promise<CommandResult & { readonly key: string }> {
    call.signal.throwIfAborted();
    const hasBegun = this.#begun.has(key);
    if (hasBegun) call.log(`terraform ${command} had begun already: its output follows from its start.`);
    else await this.#begin(key, withCommon(command, args), { quiet, signal: call.signal });
    const end = await this.#follow(key, hasBegun ? null : this.#until, call);
    this.#until = end.until;
    call.signal.throwIfAborted();
    if (good.includes(end.code)) return { ...end, key };
    const { code, lines, isShort } = end;
    throw isShort ? outOfMemory(this.#place, { lines, exit: { code, outOfMemory: true } }) : failureOf(command, end);
  }

  async #begin(
    key: string,
    words: readonly string[],
    { quiet, signal }: { readonly quiet: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const line = [programs[this.#run.engine], ...words].map(quoted).join(' ');
    const folder = quoted(posix.join(sourceFolder, this.#run.rootPath));
    const script = commandScript(line, { folder, output: quiet ? places.output(key) : null });
    const files = [
      { name: places.script(key), text: script },
      { name: places.go(key), text: '' },
    ];
    try {
      await this.#put(files, signal);
    } catch (error) {
      // A pod that has ended takes no commands: why it did says more.
      signal.throwIfAborted();
      await refuseEnded(this.#place, [], signal);
      throw error;
    }
  }

  /** Follows a command to its end. When the call is aborted the command is told to stop, and is followed until it has, or its time is over. */
  async #follow(key: string, since: string | null, call: CallContext): Promise<FollowedEnd> {
    const { signal, leave, force } = call;
    const enough = new AbortController();
    const giveUp = (): void => enough.abort();
    let patience: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      if (leave?.aborted === true || force?.aborted === true) return giveUp();
      patience = setTimeout(giveUp, this.#run.limits.graceSeconds * 1_000 + stopMilliseconds);
      call.log('Terraform is told to stop; it ends what is under way and stores its state.');
      void this.#tellToStop(key, enough.signal).catch(giveUp);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    for (const other of [leave, force]) other?.addEventListener('abort', () => signal.aborted && giveUp(), { once: true });
    try {
      return await followCommand(this.#place, { key, since }, (line) => call.log(line), enough.signal);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(patience);
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** A node that is busy for a moment must not make a cancel one that leaves the command alone. */
  #tellToStop(key: string, enough: AbortSignal): Promise<void> {
    return retry(
      {
        attempts: stopAttempts,
        firstPauseMilliseconds: 500,
        maximumPauseMilliseconds: 4_000,
        signal: enough,
        isRetryable: (error) => error instanceof DriverError && error.retryable && !enough.aborted,
        onRetry: () => undefined,
      },
      () => this.#put([{ name: places.stop(key), text: '' }], AbortSignal.any([enough, AbortSignal.timeout(stopMilliseconds)])),
    );
  }

  #put(files: readonly { readonly name: string; readonly text: string }[], signal: AbortSignal): Promise<void> {
    const { cluster, instanceId } = this.#place;
    return cluster.putInto(instanceId, { folder: runFolder, archive: smallFiles(files) }, signal);
  }
}
