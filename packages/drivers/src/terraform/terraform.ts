import { execFile } from 'node:child_process';
import { access, constants, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type {
  TerraformDriver,
  TerraformEngine,
  TerraformOutput,
  TerraformPrograms,
  TerraformResource,
  TerraformRun,
  TerraformSession,
} from '../terraform-driver.ts';
import { findInPath, passedOn, runCommand, type CommandEnd } from '../shared/command.ts';
import { awaitLeftover } from '../shared/leftover.ts';
import {
  argumentVariables,
  backendFile,
  backendText,
  commonVariables,
  erroredFile,
  failureOf,
  filesMissing,
  initArguments,
  outputsOf,
  planArguments,
  planFile,
  versionOf,
  withCommon,
  words,
  wrongVersion,
} from './commands.ts';
import { resourcesOf } from './resources.ts';
import { serveState, type StateServer } from './state-server.ts';

const execute = promisify(execFile);
const versionTimeoutMilliseconds = 20_000;
const beganFile = 'apply-began';
const rescueMilliseconds = 60_000;

/** Terraform and OpenTofu as programs of this machine. */
export class Terraform implements TerraformDriver {
  readonly #programs: TerraformPrograms;

  constructor(programs: TerraformPrograms) {
    this.#programs = programs;
  }

  async versions(): Promise<readonly { readonly engine: TerraformEngine; readonly version: string }[]> {
    const engines = ['TERRAFORM', 'OPEN_TOFU'] as const;
    const found = await Promise.all(
      engines.map(async (engine) => {
        const version = await this.#version(engine).catch(() => null);
        return version === null ? [] : [{ engine, version }];
      }),
    );
    return found.flat();
  }

  async open(run: TerraformRun, call: CallContext): Promise<TerraformSession> {
    const program = await this.#find(run.engine);
    const version = await this.#version(run.engine);
    if (run.version !== null && run.version !== version) throw wrongVersion(run, version, 'this machine');
    const isNew = !(await exists(join(run.folder, 'source')));
    if (isNew) await run.fetch();
    const root = join(run.folder, 'source', run.rootPath);
    await access(root, constants.R_OK).catch((error: unknown) => {
      throw filesMissing(run, error);
    });
    await awaitLeftover(pidFileOf(run), run.limits.graceSeconds, call.signal);
    const server = run.backend.type === 'DAVIT' && 'store' in run.backend ? await serveState(run.backend.store) : null;
    return new Session({ run, program, root, server, isNew });
  }

  /**
   * Does nothing: leftover commands end with their process or have been awaited, and everything else is in the folder.
   */
  remove(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Does nothing: leftovers of a run are in its folder, and the next session of the run waits for a command that is
   * still ending.
   */
  end(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  hasUnstoredState(folder: string, rootPath: string): Promise<boolean> {
    return exists(join(folder, 'source', rootPath, erroredFile));
  }

  async #find(engine: TerraformEngine): Promise<string> {
    const name = this.#programs[engine];
    if (name === null) {
      throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${words[engine]} is switched off on this machine` });
    }
    const path = await findInPath(name);
    if (path !== null) return path;
    throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `there is no program ${name} on this machine` });
  }

  async #version(engine: TerraformEngine): Promise<string> {
    const program = await this.#find(engine);
    const env = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' };
    const { stdout } = await execute(program, ['version', '-json'], { env, timeout: versionTimeoutMilliseconds }).catch(
      (error: unknown) => {
        throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} does not report its version`, error });
      },
    );
    const version = versionOf(stdout);
    if (version !== null) return version;
    throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} is not Terraform` });
  }
}

function pidFileOf({ folder }: TerraformRun): string {
  return join(folder, 'davit.pid');
}

interface SessionInput {
  readonly run: TerraformRun;
  readonly program: string;
  /** Folder of the configuration. */
  readonly root: string;
  readonly server: StateServer | null;
  readonly isNew: boolean;
}

/** A configuration under work. */
class Session implements TerraformSession {
  readonly #input: SessionInput;

  constructor(input: SessionInput) {
    this.#input = input;
  }

  get isNew(): boolean {
    return this.#input.isNew;
  }

  async init(call: CallContext): Promise<void> {
    const { run } = this.#input;
    await this.#writeBackend();
    await this.#run('init', initArguments(run), call);
    await this.#storeErrored(call);
  }

  async #storeErrored(call: CallContext): Promise<void> {
    const errored = join(this.#input.root, erroredFile);
    if (!(await exists(errored))) return;
    call.log('A command could not store its state; storing it now.');
    await this.#run('state', ['push', '-force', errored], call);
    await rm(errored);
  }

  async plan(call: CallContext, { destroy = false } = {}): Promise<{ readonly changes: boolean }> {
    const { run } = this.#input;
    const { code } = await this.#run('plan', planArguments(join(run.folder, planFile), destroy), call, [0, 2]);
    await rm(join(run.folder, beganFile), { force: true });
    return { changes: code === 2 };
  }

  async apply(call: CallContext): Promise<void> {
    const { run } = this.#input;
    await writeFile(join(run.folder, beganFile), '');
    try {
      await this.#run('apply', [join(run.folder, planFile)], call);
    } catch (error) {
      await this.#storeErrored({ ...call, signal: AbortSignal.timeout(rescueMilliseconds) });
      throw error;
    }
  }

  wasApplied(): Promise<boolean> {
    return exists(join(this.#input.run.folder, beganFile));
  }

  async pull(call: CallContext): Promise<string> {
    return this.#captured('state', ['pull'], call);
  }

  async push(state: string, call: CallContext): Promise<void> {
    const file = join(this.#input.run.folder, 'moved.tfstate');
    await writeFile(file, state, { mode: 0o600 });
    await this.#run('state', ['push', file], call);
    await rm(file);
  }

  async outputs(call: CallContext): Promise<readonly TerraformOutput[]> {
    return outputsOf(await this.#captured('output', ['-json'], call));
  }

  async resources(call: CallContext): Promise<readonly TerraformResource[]> {
    return resourcesOf(await this.#captured('show', ['-json'], call));
  }

  async close(): Promise<void> {
    await this.#input.server?.close();
  }

  /** Overrides the backend of the configuration's own files, unless that one is to be used. */
  async #writeBackend(): Promise<void> {
    const { run, root } = this.#input;
    const file = join(root, backendFile);
    const text = backendText(run.backend);
    if (text === null) await rm(file, { force: true });
    else await writeFile(file, text);
  }

  /** Returns the whole output of a command without logging it, as it contains the values of outputs and resources. */
  async #captured(command: string, args: readonly string[], call: CallContext): Promise<string> {
    return (await this.#run(command, args, { ...call, log: () => undefined, isCaptured: true })).output;
  }

  async #run(
    command: string,
    args: readonly string[],
    call: CallContext & { readonly isCaptured?: boolean },
    good: readonly number[] = [0],
  ): Promise<CommandEnd> {
    const { run, program, root, server } = this.#input;
    call.signal.throwIfAborted();
    const folders = ['data', 'home', 'tmp'].map((name) => join(run.folder, name));
    for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
    const locations = await this.#writeFiles();
    const own = Object.entries(run.environment).map(([name, value]) => [name, locations.get(value) ?? value] as const);
    const end = await runCommand(
      {
        program,
        arguments: withCommon(command, args),
        folder: root,
        environment: {
          ...passedOn(),
          ...Object.fromEntries(own),
          ...commonVariables(run.folder),
          ...argumentVariables(run, command),
          ...server?.environment,
        },
        limits: run.limits,
        signal: call.signal,
        onLine: (line) => call.log(line),
        isCaptured: call.isCaptured === true,
      },
      pidFileOf(run),
    ).catch((error: unknown) => {
      throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} could not be started`, error });
    });
    call.signal.throwIfAborted();
    if (good.includes(end.code) && end.excess === null) return end;
    throw failureOf(command, end);
  }

  /** Writes the files of variables into the run's folder; returns the location of each, by the path in its variable. */
  async #writeFiles(): Promise<ReadonlyMap<string, string>> {
    const { folder, files } = this.#input.run;
    const locations = files.map(({ path }, index) => [path, join(folder, 'files', String(index))] as const);
    if (files.length > 0) await mkdir(join(folder, 'files'), { recursive: true, mode: 0o700 });
    for (const [index, [, location]] of locations.entries())
      await writeFile(location, files[index]?.content ?? '', { mode: 0o600 });
    return new Map(locations);
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
