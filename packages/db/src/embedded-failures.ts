import { readFile } from 'node:fs/promises';
import { AppError, isAppError } from '@davit/base';

/** Returns an error for the operator that explains why the embedded PostgreSQL cannot run. */
export function embeddedFailure(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'EMBEDDED_DATABASE_FAILED', message, cause });
}

export function diskFull(folder: string, cause?: unknown): AppError {
  return new AppError({
    code: 'DISK_FULL',
    message: `The disk that holds ${folder} is full, so that the embedded database cannot work. Free space there, then start Davit again.`,
    cause,
  });
}

/** Converts the output of a failed program to an error. */
export function programFailure(program: string, folder: string, output: string): AppError {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(folder);
  const printed = output.trim().split('\n').slice(-8).join('\n');
  return embeddedFailure(`The embedded PostgreSQL could not be started: ${program} failed.\n${printed}`);
}

/** Converts a file system error to an error for the operator. */
export function fileFailure(folder: string, error: unknown): unknown {
  if (isAppError(error) || !(error instanceof Error && 'code' in error)) return error;
  // A program that was run reports a full disk in its output.
  if ('stderr' in error && /No space left on device|Disk quota exceeded/.test(String(error.stderr)))
    return diskFull(folder, error);
  const { code } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(folder, error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return embeddedFailure(
      `The embedded database needs to write to ${folder} and may not: ${error.message}. Give the user that runs Davit that folder, or set DAVIT_HOME to another one.`,
      error,
    );
  }
  return error;
}

/** Returns the part of a log file that was written after `offset`. */
export async function readFrom(file: string, offset: number): Promise<string> {
  try {
    return (await readFile(file)).subarray(offset).toString('utf8');
  } catch {
    // The text only explains another failure, which is the one to report.
    return '';
  }
}
