import { join } from 'node:path';
import type { CallContext } from '../driver.ts';
import { DriverError } from '../errors.ts';
import type { HelmRun } from '../helm-driver.ts';
import { passedOn, runCommand, type CommandEnd } from '../shared/command.ts';

/** Between being told to stop and being killed: Helm writes down that the release failed. */
export const graceSeconds = 30;
const limits = { cpuMillicores: 2_000, memoryMiB: 1_024, storageGiB: 1, graceSeconds };

/** Below the run's own folder, and nowhere else, Helm writes. */
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
  /** Its output is wanted whole, and not told: it may be secret. Nor are its other lines. */
  readonly isSilent?: boolean;
}

/** Runs one command to its good end. HELM_FAILED with what Helm said. */
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
      // Whoever goes on finds the release in the middle of an upgrade and takes that back, as after a crash. Two at once would undo each other.
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
  // Not cut here: secrets are taken out of it later, and half a secret is not found.
  const said = lines.findLast((line) => line.startsWith('Error: '))?.slice('Error: '.length) ?? lines.at(-1);
  return new DriverError({
    cause: 'HELM_FAILED',
    message: `helm ${command} ${excess ?? `failed${said === undefined ? ` with exit code ${code}` : `: ${said}`}`}`,
    evidence: { lines, exit: { code, outOfMemory: false } },
  });
}
