import { abortablePause } from '@davit/base';
import { DriverError, type Evidence } from '../errors.ts';
import type { Probe, Workload } from '../workload.ts';
import { inspect, type Inspection, type Scope } from './instances.ts';
import { describeClosed } from '../shared/closed-ports.ts';
import { describeExit } from '../exit-code.ts';
import { initRefusal } from '../init-words.ts';
import { formatListener, isReachable, type Listener } from '../shared/listening.ts';
import { listenersOf } from './listeners-of.ts';
import { lastLines } from './logs.ts';

const shownLines = 50;

// runc's init writes this line to the container's own output if the kernel refuses the program after the start.
const refusedByKernel =
  /^(?:standard_init_linux\.go:\d+: |runc: )?exec (?:user process caused: |\S+: )(exec format error|no such file or directory|permission denied)"?$/;

const killedHint =
  'The process was killed with SIGKILL, and the engine does not report that it was out of memory. Check the last lines and the memory of the machine.';

/** Returns the reason why an instance has exited, with its last lines. */
export async function exitFailure(scope: Scope, inspection: Inspection, signal: AbortSignal): Promise<DriverError> {
  const { ExitCode: code } = inspection.State;
  const [outOfMemory, lines] = await Promise.all([
    wasOutOfMemory(scope, inspection, signal),
    linesOfExited(scope, inspection, signal),
  ]);
  const evidence: Evidence = { lines, exit: { code, outOfMemory } };
  if (outOfMemory) {
    const mebibytes = Math.round((inspection.HostConfig.Memory ?? 0) / 1024 / 1024);
    const message = `The process used more than its ${mebibytes} MiB of memory and was killed.`;
    return new DriverError({ cause: 'OUT_OF_MEMORY', message, evidence });
  }
  const ofKernel = lines.every((line) => refusedByKernel.test(line)) ? refusedByKernel.exec(lines[0] ?? '')?.[1] : undefined;
  const refusal = ofKernel ?? initRefusal(lines);
  if (refusal !== null) {
    const program = [inspection.Path, ...inspection.Args].join(' ');
    const message = `The program could not be started (${program}): ${refusal}.`;
    return new DriverError({ cause: 'START_FAILED', message, evidence: { ...evidence, original: lines[0] } });
  }
  const message = `The process exited with ${describeExit(code)}.`;
  return new DriverError({ cause: 'PROCESS_EXITED', message, ...(code === 137 && { hint: killedHint }), evidence });
}

// A busy engine may report the end of a process before it has stored its last lines.
async function linesOfExited(scope: Scope, inspection: Inspection, signal: AbortSignal): Promise<readonly string[]> {
  const read = (): Promise<readonly string[]> => lastLines(scope.docker, inspection.Id, shownLines, signal);
  let lines = await read();
  for (const milliseconds of [50, 100, 250]) {
    if (lines.length > 0 || inspection.State.ExitCode === 0) break;
    await abortablePause(milliseconds, signal);
    lines = await read();
  }
  return lines;
}

// Docker learns of an out-of-memory kill through a different channel than of the exit, and may record the kill slightly
// later.
async function wasOutOfMemory(scope: Scope, inspection: Inspection, signal: AbortSignal): Promise<boolean> {
  if (inspection.State.OOMKilled) return true;
  if (inspection.State.ExitCode !== 137) return false;
  for (const milliseconds of [50, 100, 250]) {
    await abortablePause(milliseconds, signal);
    const again = await inspect(scope.docker, inspection.Id, signal);
    if (again?.State.OOMKilled) return true;
  }
  return false;
}

/** Returns the reason why a running instance did not become ready before the deadline. */
export async function unreadyFailure(
  scope: Scope & { readonly isLocal: boolean },
  workload: Workload,
  {
    inspection,
    attempts,
    closedPorts,
  }: { readonly inspection: Inspection; readonly attempts: readonly string[]; readonly closedPorts: readonly number[] },
  signal: AbortSignal,
): Promise<DriverError> {
  const [listeners, lines] = await Promise.all([
    listenersOf(scope.docker, inspection, scope.isLocal, signal),
    lastLines(scope.docker, inspection.Id, shownLines, signal),
  ]);
  const listening = listeners?.map(formatListener);
  const evidence: Evidence = { lines, ...(listening && { listening }) };
  const missing = workload.readiness ? closedPortOf(workload.readiness, listeners) : closedPorts;
  const seconds = workload.readyTimeoutSeconds;
  if (missing.length > 0) {
    const { message, hint } = describeClosed(missing, listeners, seconds);
    const probe = workload.readiness ? attempts : undefined;
    return new DriverError({
      cause: 'PORT_NOT_LISTENING',
      message,
      ...(hint !== null && { hint }),
      evidence: { ...evidence, ...(probe && { probe }) },
    });
  }
  const last = attempts.at(-1) ?? 'no attempt completed';
  return new DriverError({
    cause: 'PROBE_FAILED',
    message: `The readiness probe did not succeed within ${seconds} s. ${last}.`,
    evidence: { ...evidence, probe: attempts },
  });
}

/**
 * Returns the port of a failing probe if no reachable socket is known to listen on it; then the port is the cause.
 * Otherwise returns an empty list.
 */
function closedPortOf(probe: Probe, listeners: readonly Listener[] | null): number[] {
  const { check } = probe;
  if (check.type === 'exec' || listeners === null) return [];
  return listeners.some((listener) => listener.port === check.port && isReachable(listener)) ? [] : [check.port];
}
