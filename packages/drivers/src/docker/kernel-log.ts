import { accessSync, closeSync, constants, openSync, readSync } from 'node:fs';
import { uptime } from 'node:os';

/** Maximum length in bytes of a record in the kernel log. */
const longestRecord = 8192;
/** Upper bound in milliseconds for the initial difference between the log's clock and the engine's clock. */
const clockDifferenceMilliseconds = 2000;
/** Additional difference per second of uptime: nothing corrects the clock of the log. */
const clockDrift = 0.0001;

/**
 * Returns whether the kernel log of this machine records an out-of-memory kill of a process of this container since the
 * given time. Engines receive such kills through a different channel and sometimes miss them: conmon 2.1.6 (Podman 4.3)
 * under cgroups version 1 misses nearly all. Always returns false if this process may not read the log or if the engine
 * runs on another machine; then only the engine's own report is available.
 */
export function wasKilledForMemory(container: string, since: string): boolean {
  const upMilliseconds = uptime() * 1000;
  const booted = Date.now() - upMilliseconds;
  const from = Date.parse(since) - booted - clockDifferenceMilliseconds - upMilliseconds * clockDrift;
  return readKernelLog().some((record) => isKillOf(record, container, from));
}

/** Returns whether this process may read the kernel log. */
export function canReadKernelLog(): boolean {
  try {
    accessSync('/dev/kmsg', constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns whether a record (`priority,sequence,microseconds,flags;text`) is an out-of-memory kill of the container,
 * logged at least `fromMilliseconds` after boot. Pure.
 */
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
    // This process may not read the log, or has reached its end (EAGAIN). The records read so far are returned.
    return records;
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

// The oldest records may be overwritten during the read (EPIPE). The next read continues after them.
function nextRecord(log: number, buffer: Buffer): string | null {
  try {
    const length = readSync(log, buffer);
    return length === 0 ? null : buffer.toString('latin1', 0, length);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return '';
    throw error;
  }
}
