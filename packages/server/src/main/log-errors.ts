import { isAppError } from '@davit/base';

/** An error as it is written to the server's log. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
  readonly [fact: string]: unknown;
}

const maxCauses = 5;
const maxErrors = 10;
const longestMessage = 2_000;
const longestUnknownMessage = 300;
const maxFrames = 30;
/*
 * Properties that describe the error and contain no value of a user. Other properties may contain such values:
 * - pg puts values into `detail`, `where` and `internalQuery`.
 * - Node.js puts arguments and environments into `cmd`, `spawnargs` and `input`.
 * - undici puts headers into `headers`.
 */
const facts = [
  'code',
  'errno',
  'syscall',
  'path',
  'address',
  'port',
  'status',
  'statusCode',
  'signal',
  'retryable',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
];

/**
 * Returns the parts of an error that contain no value of a user: its type, stack, codes and names. The message is kept
 * if it was written by Davit or comes from the operating system; in other messages, quoted texts and long words are
 * left out. For a thrown value that is not an error, only its type is kept.
 */
export function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error, message: 'something that is no error' };
  const message = messageOf(error);
  const stack = framesOf(error);
  const causes = depth < maxCauses && error.cause instanceof Error ? { cause: loggedError(error.cause, depth + 1) } : {};
  const errors =
    depth < maxCauses && error instanceof AggregateError
      ? { errors: error.errors.slice(0, maxErrors).map((one) => loggedError(one, depth + 1)) }
      : {};
  return { type: typeOf(error), message, ...factsOf(error), ...(stack === '' ? {} : { stack }), ...causes, ...errors };
}

function typeOf(error: Error): string {
  return word(error.constructor.name) ?? word(error.name) ?? 'Error';
}

function factsOf(error: Error): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const name of facts) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === 'number' || typeof value === 'boolean') found[name] = value;
    if (typeof value === 'string') found[name] = value.slice(0, 200);
  }
  return found;
}

function messageOf(error: Error): string {
  if (isAppError(error) || isOfSystem(error)) return error.message.slice(0, longestMessage);
  // V8 quotes the pattern or JSON that could not be parsed, or the value that is not a number.
  if (error instanceof SyntaxError) return 'left out, as it may quote what could not be read';
  return withoutValues(error.message);
}

/** Returns whether Node.js created the error from an error of the operating system. */
function isOfSystem(error: Error): boolean {
  return (
    typeof Reflect.get(error, 'syscall') === 'string' && typeof Reflect.get(error, 'errno') === 'number' && !('cmd' in error)
  );
}

/** Removes values from a message. The message is truncated first, so that a message of megabytes costs nothing. */
function withoutValues(message: string): string {
  const short = message
    .slice(0, longestMessage)
    .replace(/(["'`])(?:(?!\1)[^\\]|\\.)*(?:\1|$)/gs, '$1…$1')
    .replace(/\/[^/\n]{16,}\//g, '/…/')
    .replace(/(operator to search for \S+ in )[^]*/, '$1…')
    .replace(/\S{24,}/g, '…');
  return short.length > longestUnknownMessage ? `${short.slice(0, longestUnknownMessage)}…` : short;
}

/** Returns the stack frames, without the message with which a stack begins. */
function framesOf(error: Error): string {
  const stack = error.stack ?? '';
  const head = stack.indexOf(error.message);
  const frames = head < 0 || error.message === '' ? stack : stack.slice(head + error.message.length);
  const lines = frames
    .split('\n', maxFrames + 1)
    .filter((line) => /^ {4}at [\w.#<>[\] ]*\(?(?:file:|node:|\/|<anonymous>|native)/.test(line));
  return lines.map((line) => line.slice(0, 300)).join('\n');
}

function word(text: unknown): string | null {
  return typeof text === 'string' && /^\w{1,60}$/.test(text) ? text : null;
}
