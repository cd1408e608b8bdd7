import { AppError } from '@davit/base';
import { DatabaseError } from 'pg';

/**
 * The database is unreachable, has disconnected, or cannot do anything at present. The same call may succeed later
 * without any change.
 */
export class DatabaseUnavailable extends AppError {
  readonly retryable = true;

  /** `folder`: folder of a server on this machine, or null if the server is elsewhere. */
  constructor(cause: unknown, folder: string | null = null) {
    super({ code: 'DATABASE_UNAVAILABLE', message: wordsFor(cause, folder), cause });
    this.name = 'DatabaseUnavailable';
  }
}

/**
 * The server at this address is read-only. Of two processes that work on a standby, each could consider itself the
 * leader.
 */
export class ServerReadOnly extends Error {
  constructor() {
    super('the server accepts no changes');
    this.name = 'ServerReadOnly';
  }
}

function wordsFor(cause: unknown, folder: string | null): string {
  if (cause instanceof ServerReadOnly || hasState(cause, readOnlyState)) {
    return 'The database accepts no changes: its server is a standby, or was made read-only. Try again in a few seconds; if that does not help, check the server that DATABASE_URL names.';
  }
  if (hasState(cause, diskFullState)) {
    const location = folder === null ? 'on the disk of its server' : `on the disk of ${folder}`;
    return `The database cannot store anything at present: there is no space left ${location}. Free space there; writes then resume by themselves, and stored data is safe.`;
  }
  if (isTransient(cause))
    return 'The database cannot do this at present: it is out of memory, or too busy. Try again in a few seconds.';
  return 'The database does not answer. It may be starting; try again in a few seconds.';
}

// SQLSTATE of a write on a read-only server. Its connection stays with that server, even if the address now points
// elsewhere.
const readOnlyState = '25006';
const diskFullState = '53100';

// SQLSTATEs that concern the connection or the whole server, not the statement (PostgreSQL 18, appendix A). 25P03 and
// 25P04: the server ended a transaction that was idle or lasted too long, and its session.
const unavailableStates = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25P03', '25P04', readOnlyState]);

/*
 * SQLSTATEs that end one statement through no fault of its own. The connection remains usable. The same statement may
 * succeed later:
 * - when there is space again (53000, 53100: disk, 53200: memory)
 * - when the disk can be read again (58030)
 * - when a lock is free (55P03, by an operator's lock_timeout)
 * - when there is less load (57014, by an operator's statement_timeout or a manual cancellation)
 *
 * Not included: 53400, a configured limit; and damaged data (XX001, XX002, 58P01), which waiting does not repair.
 */
const transientStates = new Set(['53000', '53100', '53200', '58030', '55P03', '57014']);

// Error codes of sockets. pg marks its own errors only by their messages.
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

/** Returns whether the failure concerns the connection or the whole server. The connection is then unusable. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof DatabaseError) {
    const { code } = error;
    if (code === undefined) return false;
    // Nobody may connect at present, for example because an operator locks a database to move it.
    if (code === '55000') return error.severity === 'FATAL';
    // 08P01 is a bug in Davit, such as a statement with too few values.
    return unavailableStates.has(code) || (code.startsWith('08') && code !== '08P01');
  }
  if (error instanceof ServerReadOnly) return true;
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return socketCodes.has(code) || connectionMessage.test(error.message);
}

/**
 * Returns whether the failure of a new connection means that no server responds. False if the server refused the
 * connection or its name was not found.
 */
export function isServerSilent(error: unknown): boolean {
  if (!isConnectionFailure(error) || error instanceof DatabaseError || !(error instanceof Error)) return false;
  return !('code' in error && (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN'));
}

function isTransient(error: unknown): boolean {
  return error instanceof DatabaseError && error.code !== undefined && transientStates.has(error.code);
}

/**
 * Converts a failure of pg: to `DatabaseUnavailable` if it concerns the connection or is temporary. Other failures are
 * returned unchanged.
 */
export function toFailure(error: unknown, folder: string | null = null): unknown {
  return isConnectionFailure(error) || isTransient(error) ? new DatabaseUnavailable(error, folder) : error;
}

/** Returns whether a transaction that failed with this error may succeed if it is repeated from its start. */
export function isConflictOfTransactions(error: unknown): boolean {
  return hasState(error, '40001') || hasState(error, '40P01');
}

/** Returns whether a statement waited for a lock longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return hasState(error, '55P03');
}

/** Returns whether the error is a violation of a unique constraint or index; if `constraint` is given, of that one. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23505', constraint);
}

/** Returns whether the error is a violation of a foreign key; if `constraint` is given, of that one. */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23503', constraint);
}

/** Returns whether the error is a violation of a check constraint; if `constraint` is given, of that one. */
export function isCheckViolation(error: unknown, constraint?: string): boolean {
  return hasState(error, '23514', constraint);
}

/**
 * Returns whether a change was refused because the record has a different version than the request expects
 * (`if_match`).
 */
export function isStaleVersion(error: unknown): boolean {
  return hasState(error, 'DV412');
}

/**
 * Returns whether a change was refused because its idempotency key now belongs to another request
 * (`mark_idempotency_key`).
 */
export function isTakenKey(error: unknown): boolean {
  return hasState(error, 'DV409');
}

/**
 * Returns whether the columns of a table changed after the statement was prepared. A new connection prepares it again.
 */
export function isStalePlan(error: unknown): boolean {
  return hasState(error, '0A000') && error instanceof Error && error.message.startsWith('cached plan');
}

function hasState(error: unknown, state: string, constraint?: string): boolean {
  if (!(error instanceof DatabaseError) || error.code !== state) return false;
  return constraint === undefined || error.constraint === constraint;
}
