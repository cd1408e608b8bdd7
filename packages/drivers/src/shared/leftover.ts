import { readFile, rm } from 'node:fs/promises';
import { abortablePause } from '@davit/base';

/** Time beyond its grace period after which a command is killed. */
const beyondGraceSeconds = 15;

/**
 * Waits until a command that an earlier Davit process left behind has exited: it received its stop when that process
 * died. After that its state is stored or in a file, and no other process works in the folder.
 */
export async function awaitLeftover(pidFile: string, graceSeconds: number, signal: AbortSignal): Promise<void> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  if (!Number.isInteger(pid) || pid <= 1) return;
  const until = Date.now() + (graceSeconds + beyondGraceSeconds) * 1_000;
  while (await isOurs(pid, pidFile)) {
    signal.throwIfAborted();
    if (Date.now() > until) {
      kill(pid);
      break;
    }
    await abortablePause(100, signal);
  }
  await rm(pidFile, { force: true });
}

/** Returns whether that process is the shell of our command, and not another process that got its id since. */
async function isOurs(pid: number, pidFile: string): Promise<boolean> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes(pidFile);
  } catch {
    return false;
  }
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has exited.
  }
}
