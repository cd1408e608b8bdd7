import { execFile } from 'node:child_process';
import { access, constants, mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
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
import { runCommand, type CommandEnd } from '../shared/command.ts';
import { awaitLeftover } from '../shared/leftover.ts';
import { resourcesOf } from './resources.ts';
import { serveState, type StateServer } from './state-server.ts';

const execute = promisify(execFile);
const versionTimeoutMilliseconds = 20_000;
const planFile = 'plan';
const beganFile = 'apply-began';
const erroredFile = 'errored.tfstate';
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
    if (run.version !== null && run.version !== version) {
      throw new DriverError({
        cause: 'TERRAFORM_VERSION_UNAVAILABLE',
        message: `provider_version.explicit_version asks for ${words[run.engine]} ${run.version}, but this machine has ${version}`,
      });
    }
    const root = join(run.folder, 'source', run.rootPath);
    await access(root, constants.R_OK).catch((error: unknown) => {
      throw new DriverError({
        cause: 'TERRAFORM_FILES_MISSING',
        message: `the folder ${run.rootPath} is not in the repository at this commit`,
        error,
      });
    });
    await awaitLeftover(pidFileOf(run), run.limits.graceSeconds, call.signal);
    const server = run.backend.type === 'DAVIT' && 'store' in run.backend ? await serveState(run.backend.store) : null;
    return new Session({ run, program, root, server });
  }

  hasUnstoredState(folder: string, rootPath: string): Promise<boolean> {
    return exists(join(folder, 'source', rootPath, erroredFile));
  }

  async #find(engine: TerraformEngine): Promise<string> {
    const name = this.#programs[engine];
    if (name === null) {
      throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${words[engine]} is switched off on this machine` });
    }
    const paths = isAbsolute(name) ? [name] : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name));
    for (const path of paths) {
      const works = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (works) return resolve(path);
    }
    throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `there is no program ${name} on this machine` });
  }

  async #version(engine: TerraformEngine): Promise<string> {
    const program = await this.#find(engine);
    const env = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' };
    try {
      const { stdout } = await execute(program, ['version', '-json'], { env, timeout: versionTimeoutMilliseconds });
      const parsed: { readonly terraform_version?: unknown } = JSON.parse(stdout);
      if (typeof parsed.terraform_version === 'string') return parsed.terraform_version;
    } catch (error) {
      throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} does not tell its version`, error });
    }
    throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} is no Terraform` });
  }
}

const words: Readonly<Record<TerraformEngine, string>> = { TERRAFORM: 'Terraform', OPEN_TOFU: 'OpenTofu' };

function pidFileOf({ folder }: TerraformRun): string {
  return join(folder, 'davit.pid');
}

interface SessionInput {
  readonly run: TerraformRun;
  readonly program: string;
  /** Where the configuration is. */
  readonly root: string;
  readonly server: StateServer | null;
}

/** A configuration that is worked on. */
class Session implements TerraformSession {
  readonly #input: SessionInput;

  constructor(input: SessionInput) {
    this.#input = input;
  }

  async init(call: CallContext): Promise<void> {
    const { run } = this.#input;
    await this.#writeBackend();
    const config = 'config' in run.backend ? run.backend.config : {};
    const backend = Object.entries(config).map(([name, value]) => `-backend-config=${name}=${value}`);
    await this.#run('init', [...backend, '-reconfigure'], call);
    await this.#storeErrored(call);
  }

  async #storeErrored(call: CallContext): Promise<void> {
    const errored = join(this.#input.root, erroredFile);
    if (!(await exists(errored))) return;
    call.log('A command could not store its state; that is done now.');
    await this.#run('state', ['push', '-force', errored], call);
    await rm(errored);
  }

  async plan(call: CallContext, { destroy = false } = {}): Promise<{ readonly changes: boolean }> {
    const { run } = this.#input;
    const args = [`-out=${join(run.folder, planFile)}`, '-detailed-exitcode', ...(destroy ? ['-destroy'] : [])];
    const { code } = await this.#run('plan', args, call, [0, 2]);
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
    return (await this.#run('state', ['pull'], { ...call, log: () => undefined })).output;
  }

  async push(state: string, call: CallContext): Promise<void> {
    const file = join(this.#input.run.folder, 'moved.tfstate');
    await writeFile(file, state, { mode: 0o600 });
    await this.#run('state', ['push', file], call);
    await rm(file);
  }

  async outputs(call: CallContext): Promise<readonly TerraformOutput[]> {
    const end = await this.#run('output', ['-json'], { ...call, log: () => undefined });
    const parsed: Readonly<Record<string, { readonly value: unknown; readonly sensitive?: boolean }>> = JSON.parse(
      end.output === '' ? '{}' : end.output,
    );
    return Object.entries(parsed).map(([name, { value, sensitive }]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
      sensitive: sensitive === true,
    }));
  }

  async resources(call: CallContext): Promise<readonly TerraformResource[]> {
    return resourcesOf((await this.#run('show', ['-json'], { ...call, log: () => undefined })).output);
  }

  async close(): Promise<void> {
    await this.#input.server?.close();
  }

  /** Overrides whatever backend the files name, unless theirs is meant. */
  async #writeBackend(): Promise<void> {
    const { run, root } = this.#input;
    const file = join(root, 'davit_override.tf.json');
    if (run.backend.type === 'FILES') {
      await rm(file, { force: true });
      return;
    }
    const type = run.backend.type === 'DAVIT' ? 'http' : run.backend.type;
    await writeFile(file, JSON.stringify({ terraform: { backend: { [type]: {} } } }));
  }

  async #run(command: string, args: readonly string[], call: CallContext, good: readonly number[] = [0]): Promise<CommandEnd> {
    const { run, program, root, server } = this.#input;
    call.signal.throwIfAborted();
    const folders = ['data', 'home', 'tmp'].map((name) => join(run.folder, name));
    for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const { path, content } of run.files) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, content, { mode: 0o600 });
    }
    const common =
      command === 'state' ? [] : command === 'output' || command === 'show' ? ['-no-color'] : ['-input=false', '-no-color'];
    const end = await runCommand(
      {
        program,
        arguments: [command, ...common, ...args],
        folder: root,
        environment: {
          ...passedOn(),
          ...run.environment,
          HOME: join(run.folder, 'home'),
          TMPDIR: join(run.folder, 'tmp'),
          TF_DATA_DIR: join(run.folder, 'data'),
          TF_IN_AUTOMATION: '1',
          CHECKPOINT_DISABLE: '1',
          ...this.#argumentsOf(command),
          ...server?.environment,
        },
        limits: run.limits,
        signal: call.signal,
        onLine: (line) => call.log(line),
      },
      pidFileOf(run),
    ).catch((error: unknown) => {
      throw new DriverError({ cause: 'TERRAFORM_UNAVAILABLE', message: `${program} could not be started`, error });
    });
    call.signal.throwIfAborted();
    if (good.includes(end.code)) return end;
    throw failureOf(command, end);
  }

  /**
   * What a user adds, through the environment: arguments that hold secrets would stand in the list of processes. Only the plan
   * takes variables: it stores them for what follows.
   */
  #argumentsOf(command: string): Record<string, string> {
    const { run } = this.#input;
    const extra = run.extraArguments[command] ?? [];
    if (command !== 'plan') return extra.length === 0 ? {} : { [`TF_CLI_ARGS_${command}`]: extra.map(quoted).join(' ') };
    const files = run.variableFiles.map((file) => `-var-file=${file}`);
    const values = Object.entries(run.variables).map(([name, value]) => `-var=${name}=${value}`);
    return { TF_CLI_ARGS_plan: [...files, ...values, ...extra].map(quoted).join(' ') };
  }
}

/** For Terraform, which takes such a list apart as a shell does. */
function quoted(argument: string): string {
  return `'${argument.replaceAll("'", `'"'"'`)}'`;
}

/** What of Davit's environment programs need to reach the world. */
function passedOn(): Record<string, string> {
  const names = [
    'PATH',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'NO_PROXY',
    'http_proxy',
    'https_proxy',
    'no_proxy',
    'SSL_CERT_FILE',
    'SSL_CERT_DIR',
  ];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));
}

function failureOf(command: string, end: CommandEnd): DriverError {
  const text = end.lines.join('\n');
  const evidence = { lines: end.lines, exit: { code: end.code, outOfMemory: false } };
  // Whose lock it is, is told only where there is one: not where the place of the state did not answer.
  if (text.includes('Error acquiring the state lock') && /Lock Info:|already locked/i.test(text)) {
    return new DriverError({ cause: 'TERRAFORM_STATE_LOCKED', message: 'the state is locked by another run', evidence });
  }
  const said = end.lines.map((line) => /Error: (.*)/.exec(line)?.[1]).find((line) => line !== undefined);
  return new DriverError({
    cause: 'TERRAFORM_FAILED',
    message: `terraform ${command} failed with exit code ${end.code}${said === undefined ? '' : `: ${said}`}`,
    evidence,
  });
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
