import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { HelmDriver, HelmRun, HelmSession } from '../helm-driver.ts';
import { findInPath } from '../shared/command.ts';
import { awaitLeftover } from '../shared/leftover.ts';
import { checkedArguments } from '../helm-arguments.ts';
import { graceSeconds, homeOf, pidFileOf } from './command.ts';
import { writeRun } from './files.ts';
import { unknownNames } from './macro.ts';
import { Session } from './session.ts';

const execute = promisify(execFile);
const versionTimeoutMilliseconds = 20_000;

/** Helm 4 as a program of this machine. */
export class Helm implements HelmDriver {
  readonly #program: string | null;

  /** Name or path of the program; null: charts are not deployed. */
  constructor(program: string | null) {
    this.#program = program;
  }

  async version(): Promise<string | null> {
    try {
      return await askVersion(await this.#find());
    } catch (error) {
      if (error instanceof DriverError) return null;
      throw error;
    }
  }

  async open(run: HelmRun, call: CallContext): Promise<HelmSession> {
    const program = await this.#find();
    await askVersion(program);
    const extra = run.install === null ? [] : checkedArguments(run.install.arguments);
    await awaitLeftover(pidFileOf(run), graceSeconds, call.signal);
    logUnknown(run, call);
    try {
      return new Session({ run, program, extra, written: await writeRun(run) });
    } catch (error) {
      // The caller gets no session to close, and the kubeconfig has already been written.
      await rm(homeOf(run), { recursive: true, force: true });
      throw error;
    }
  }

  async #find(): Promise<string> {
    const name = this.#program;
    if (name === null) throw unavailable('deploying charts is switched off on this machine');
    const path = await findInPath(name);
    if (path !== null) return path;
    throw unavailable(`there is no program ${name} on this machine`);
  }
}

function logUnknown({ install }: HelmRun, call: CallContext): void {
  if (install === null) return;
  const { files, set, setString, setJson } = install.values;
  const texts = [...files.map(({ content }) => content), ...[...set, ...setString, ...setJson].map(([, value]) => value)];
  const names = new Set(texts.flatMap((text) => unknownNames(text, install.variables)));
  for (const name of names)
    call.log(`The values use davit.env.${name}, but the service has no variable ${name}: the text is left as it is.`);
}

async function askVersion(program: string): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HELM_NO_PLUGINS: '1' };
  const reported = await execute(program, ['version', '--template', '{{.Version}}'], {
    env,
    timeout: versionTimeoutMilliseconds,
  }).catch((error: unknown) => {
    throw unavailable(`${program} does not report its version`, error);
  });
  const version = reported.stdout.trim().replace(/^v/, '');
  // Earlier versions have other arguments for rollbacks and waiting.
  if (!version.startsWith('4.')) throw unavailable(`${program} is version ${version}, but Davit needs Helm 4`);
  return version;
}

function unavailable(message: string, error?: unknown): DriverError {
  return new DriverError({ cause: 'HELM_UNAVAILABLE', message, error });
}
