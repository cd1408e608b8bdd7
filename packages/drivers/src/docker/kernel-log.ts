import { closeSync, constants, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** A record of the kernel's log is at most this long. */
const longestRecord = 8192;
/** The log's clock and that of the engine differ by less at the start, */
const clockDifferenceMilliseconds = 2000;
/** and by so much more in each second: nobody corrects the clock of the log. */
const clockDrift = 0.0001;

/**
 * Whether the kernel of this machine says that it killed a process of this container for want of memory since the time given.
 * Engines are told in another way and miss it at times: conmon 2.1.6 (Podman 4.3) under cgroups version 1 nearly always. Never
 * true where this process may not read the log, or the engine runs on another machine: then the engine's word is all there is.
 */
export function wasKilledForMemory(container: string, since: string): boolean {
  const upMilliseconds = uptime() * 1000;
  const booted = Date.now() - upMilliseconds;
  const from = Date.parse(since) - booted - clockDifferenceMilliseconds - upMilliseconds * clockDrift;
  return readKernelLog().some((record) => isKillOf(record, container, from));
}

/** Whether a record (`priority,sequence,microseconds,flags;text`) is such a kill, that many milliseconds after the boot or later. Pure. */
export function isKillOf(record: string, container: string, fromMilliseconds: number): boolean {
  const head = /^\d+,\d+,(\d+),/.exec(record);
  if (!head || Number(head[1]) / 1000 < fromMilliseconds) return false;
  return (
    record.includes(';oom-kill:constraint=CONSTRAINT_MEMCG') &&
    /oom_memcg=([^,]*)/.exec(record)?.[1]?.includes(container) === true
  );
}

function readKernelLog(): string[] {
  const records: string[] = [];
  let log: number | undefined;
  try {
    log = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(longestRecord);
    for (;;) {
      const record = nextRecord(log, buffer);
      if (record === null) return records;
      records.push(record);
    }
  } catch {
    // Not allowed, or at its end (EAGAIN): what was read is what there is.
    return records;
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

// The oldest records may be overwritten while they are read (EPIPE): the next read goes on after them.
function nextRecord(log: number, buffer: Buffer): string | null {
  try {
    const length = readSync(log, buffer);
    return length === 0 ? null : buffer.toString('latin1', 0, length);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return '';
    throw error;
  }
}
