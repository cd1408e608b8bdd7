import { Buffer } from 'node:buffer';
import { DriverError } from '../errors.ts';
import type { Workload } from '../workload.ts';

/** Longest entry of a process's environment in bytes, with name and `=` (MAX_ARG_STRLEN of Linux, without its NUL). */
const longestEntryBytes = 131_071;
/**
 * Most bytes of a command with its environment. Linux allows 2 MiB with the usual stack of 8 MiB, and counts a pointer
 * for each text.
 */
const mostBytes = 2 * 1024 * 1024 - 64 * 1024;
const bytesOfText = (text: string): number => Buffer.byteLength(text) + 1 + 8;

/**
 * Fails with START_FAILED if no Linux process can start with the command and environment of a workload. References
 * between variables can make a value longer than the API accepts.
 */
export function refuseImpossibleProcess({ entrypoint, arguments: args, environment }: Workload): void {
  let bytes = [...entrypoint, ...args].reduce((sum, text) => sum + bytesOfText(text), 0);
  for (const { name, value } of environment) {
    const text = value.reveal();
    if (text.includes('\0')) {
      throw refusal(
        `The value of variable ${name} contains a NUL character, which no process environment can hold.`,
        'Store the value as base64, or as a FILE variable.',
      );
    }
    const length = Buffer.byteLength(name) + 1 + Buffer.byteLength(text);
    if (length > longestEntryBytes) {
      throw refusal(
        `Variable ${name} has ${length} bytes with its key; a process environment holds at most ${longestEntryBytes} for each.`,
        'Use a FILE variable, or refer to fewer other variables in the value.',
      );
    }
    bytes += length + 1 + 8;
  }
  if (bytes <= mostBytes) return;
  throw refusal(
    `Command, arguments and variables have ${bytes} bytes together; a process can receive at most ${mostBytes}.`,
    'Use FILE variables for large values, or put them into the image.',
  );
}

function refusal(message: string, hint: string): DriverError {
  return new DriverError({ cause: 'START_FAILED', message, hint });
}
