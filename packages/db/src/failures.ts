import { AppError } from '@davit/base';
import { DatabaseError } from 'pg';

/** The database cannot be reached or went away. The same call may succeed later without anybody changing anything. */
export class DatabaseUnavailable extends AppError {
  readonly retryable = true;

  constructor(cause: unknown) {
    super({
      code: 'DATABASE_UNAVAILABLE',
      message: 'The database does not answer. It may be starting; try again in a few seconds.',
      cause,
    });
    this.name = 'DatabaseUnavailable';
  }
}

// SQLSTATEs that speak of the connection or of the server as a whole, not of the statement. PostgreSQL 18, appendix A.
const unavailableStates = new Set(['57P01', '57P02', '57P03', '57P05', '53300']);

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
]);
const connectionMessage = /^(Connection terminated|Client (has encountered|was closed)|timeout expired|timeout exceeded when)/;

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
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return socketCodes.has(code) || connectionMessage.test(error.message);
}

/** What is thrown for a failure of pg: `DatabaseUnavailable` for the connection's, the failure itself for all others. */
export function toFailure(error: unknown): unknown {
  return isConnectionFailure(error) ? new DatabaseUnavailable(error) : error;
}

/** Whether a transaction that failed with this may succeed when it is done again from its start. */
export function isConflictOfTransactions(error: unknown): boolean {
  return hasState(error, '40001') || hasState(error, '40P01');
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
