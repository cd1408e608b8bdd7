import { AppError } from '@davit/base';
import { DatabaseError } from 'pg';

/**
 * The database cannot be reached, went away, or can do nothing at present. The same call may succeed later without anybody changing
 * anything.
 */
export class DatabaseUnavailable extends AppError {
  readonly retryable = true;

  /** `folder`: where a server of this machine has its files; null: it is elsewhere. */
  constructor(cause: unknown, folder: string | null = null) {
    super({ code: 'DATABASE_UNAVAILABLE', message: wordsFor(cause, folder), cause });
    this.name = 'DatabaseUnavailable';
  }
}

/** The server at this address takes no changes. Of two that work on a standby, each could think that it leads. */
export class ServerReadOnly extends Error {
  constructor() {
    super('the server takes no changes');
    this.name = 'ServerReadOnly';
  }
}

function wordsFor(cause: unknown, folder: string | null): string {
  if (cause instanceof ServerReadOnly || hasState(cause, readOnlyState)) {
    return 'The database takes no changes: its server is a standby, or was made read-only. Try again in a few seconds; if it lasts, see where DATABASE_URL leads.';
  }
  if (hasState(cause, diskFullState)) {
    const place = folder === null ? 'on the disk of its server' : `on the disk of ${folder}`;
    return `The database cannot store anything at present: there is no space left ${place}. Free space there; writing goes on by itself then, and what was stored is safe.`;
  }
  if (isPassing(cause))
    return 'The database cannot do this at present: it is out of memory, or too busy. Try again in a few seconds.';
  return 'The database does not answer. It may be starting; try again in a few seconds.';
}

// A statement that would change something on a server that takes no changes. Its connection stays there, wherever the address leads by now.
const readOnlyState = '25006';
const diskFullState = '53100';

// SQLSTATEs that speak of the connection or of the server as a whole, not of the statement. PostgreSQL 18, appendix A. 25P03 and 25P04: the
// server ended a transaction that stood still, or lasted too long, and the session with it.
const unavailableStates = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25P03', '25P04', readOnlyState]);

/*
 * Those that end one statement for what it is not to blame for; the connection is as good as before. The same may succeed when there is room
 * (53000, 53100: disk, 53200: memory), when the disk reads again (58030), when a lock is free (55P03, by an operator's lock_timeout), or
 * when there is less to do (57014, by an operator's statement_timeout or hand). Not among them: 53400, a limit that somebody set; and data
 * that is damaged (XX001, XX002, 58P01), which no waiting mends.
 */
const passingStates = new Set(['53000', '53100', '53200', '58030', '55P03', '57014']);

// Failures of the socket. pg marks its own ones by their message alone.
const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const connectionMessage =
  /^(Connection terminated|Client (has encountered|was closed)|timeout expired|timeout exceeded when|Query read timeout)/;

/** Whether the failure is about the connection or the server as a whole; the connection is then of no use any more. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof DatabaseError) {
    const { code } = error;
    if (code === undefined) return false;
    // Nobody may connect just now, as when an operator locks a database to move it.
    if (code === '55000') return error.severity === 'FATAL';
    // 08P01 is a fault of ours, as of a statement with too few values.
    return unavailableStates.has(code) || (code.startsWith('08') && code !== '08P01');
  }
  if (error instanceof ServerReadOnly) return true;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return socketCodes.has(code) || connectionMessage.test(error.message);
}

/** Whether the failure of a new connection says that nobody is there. Not where the server refused, nor where its name was not found. */
export function isServerSilent(error: unknown): boolean {
  if (!isConnectionFailure(error) || error instanceof DatabaseError || !(error instanceof Error)) return false;
  return !('code' in error && (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN'));
}

function isPassing(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== undefined && passingStates.has(error.code);
}

/**
 * What is thrown for a failure of pg: `DatabaseUnavailable` for those of the connection and for those that pass by themselves, the failure
 * itself for all others.
 */
export function toFailure(error: unknown, folder: string | null = null): unknown {
  return isConnectionFailure(error) || isPassing(error) ? new DatabaseUnavailable(error, folder) : error;
}

/** Whether a transaction that failed with this may succeed when it is done again from its start. */
export function isConflictOfTransactions(error: unknown): boolean {
  return hasState(error, '40001') || hasState(error, '40P01');
}

/** Whether a statement waited for a lock for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return hasState(error, '55P03');
}

/** Whether the error is a violation of a unique constraint or index, of this one if it is named. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23505', constraint);
}

/** Whether the error is a violation of a foreign key, of this one if it is named. */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23503', constraint);
}

/** Whether the error is a violation of a check constraint, of this one if it is named. */
export function isCheckViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23514', constraint);
}

/** Whether a record was to be changed that has another version than the request expects (`if_match`). */
export function isStaleVersion(error: unknown): boolean {
  return hasState(error, 'DV412');
}

/** Whether a change was refused because its idempotency key belongs to another request by now (`mark_idempotency_key`). */
export function isTakenKey(error: unknown): boolean {
  return hasState(error, 'DV409');
}

/** Whether the statement was prepared against a table whose columns changed since: a new connection prepares it anew. */
export function isStalePlan(error: unknown): boolean {
  return hasState(error, '0A000') && error instanceof Error && error.message.startsWith('cached plan');
}

function hasState(error: unknown, state: string, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== state) return false;
  return constraint === undefined || error.constraint === constraint;
}
