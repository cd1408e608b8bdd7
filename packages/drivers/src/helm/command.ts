import { join } from 'node:path';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { HelmRun } from '../helm-driver.ts';
import { passedOn, runCommand, type CommandEnd } from '../shared/command.ts';

/** Seconds between the request to stop and SIGKILL. Helm uses them to record that the release failed. */
export const graceSeconds = 30;
const limits = { cpuMillicores: 2_000, memoryMiB: 1_024, storageGiB: 1, graceSeconds };

/** Returns the folder, below the run's own folder, that contains everything Helm writes. */
export function homeOf({ folder }: Pick<HelmRun, 'folder'>): string {
  return join(folder, 'helm');
}

export function pidFileOf({ folder }: Pick<HelmRun, 'folder'>): string {
  return join(folder, 'davit.pid');
}

export interface HelmCommand {
  readonly program: string;
  readonly run: HelmRun;
  readonly arguments: readonly string[];
  /** Captures the whole output and logs neither it nor any other line of the command: it may contain secrets. */
  readonly isSilent?: boolean;
}

/** Runs one command until it succeeds. Fails with HELM_FAILED and Helm's own message. */
export async function runHelm({ program, run, isSilent, ...command }: HelmCommand, call: CallContext): Promise<CommandEnd> {
  call.signal.throwIfAborted();
  const end = await runCommand(
    {
      program,
      arguments: command.arguments,
      folder: homeOf(run),
      environment: environmentOf(run),
      limits,
      signal: call.signal,
      // The process that resumes finds the release in the middle of an upgrade and rolls it back, as after a crash. Two
      // processes at once would undo each other's changes.
      kill: call.leave,
      isCaptured: isSilent === true,
      onLine: (line) => {
        if (isSilent !== true && line.trim() !== '') call.log(line);
      },
    },
    pidFileOf(run),
  ).catch((error: unknown) => {
    throw new DriverError({ cause: 'HELM_UNAVAILABLE', message: `${program} could not be started`, error });
  });
  call.signal.throwIfAborted();
  if (end.code === 0 && end.excess === null) return end;
  throw failureOf(command.arguments[0] ?? '', end);
}

function environmentOf(run: HelmRun): Record<string, string> {
  const home = homeOf(run);
  return {
    ...passedOn(),
    HOME: join(home, 'home'),
    TMPDIR: join(home, 'tmp'),
    KUBECONFIG: join(home, 'kubeconfig'),
    HELM_CACHE_HOME: join(home, 'cache'),
    HELM_CONFIG_HOME: join(home, 'config'),
    HELM_DATA_HOME: join(home, 'data'),
    HELM_REPOSITORY_CONFIG: join(home, 'repositories.yaml'),
    HELM_NO_PLUGINS: '1',
    HELM_DRIVER: 'secret',
    NO_COLOR: '1',
  };
}

function failureOf(command: string, { code, lines, excess }: CommandEnd): DriverError {
  // Not truncated here: secrets are redacted later, and redaction does not find half a secret.
  const output = lines.findLast((line) => line.startsWith('Error: '))?.slice('Error: '.length) ?? lines.at(-1);
  return new DriverError({
    cause: 'HELM_FAILED',
    message: `helm ${command} ${excess ?? `failed${output === undefined ? ` with exit code ${code}` : `: ${output}`}`}`,
    evidence: { lines, exit: { code, outOfMemory: false } },
  });
}
