import { isAppError } from '@davit/base';

/** An error as the server's log has it. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  readonly errors?: readonly LoggedError[];
  readonly [fact: string]: unknown;
}

const mostCauses = 5;
const mostErrors = 10;
const longestMessage = 2_000;
const longestUnknownMessage = 300;
const mostFrames = 30;
/*
 * Properties that say what happened and hold no value of a user. Others may: pg puts values into `detail`, `where` and `internalQuery`, Node.js
 * puts arguments and environments into `cmd`, `spawnargs` and `input`, undici puts headers into `headers`.
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
 * Keeps of an error what is known to carry no value of a user: its type, its place, codes and names. The message is kept where Davit wrote it or where
 * it comes from the operating system; of others, quoted texts and long words are left out. Something else than an error: its type.
 */
export function loggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: error === null ? 'null' : typeof error, message: 'something that is no error' };
  const message = messageOf(error);
  const stack = framesOf(error);
  const causes = depth < mostCauses && error.cause instanceof Error ? { cause: loggedError(error.cause, depth + 1) } : {};
  const errors =
    depth < mostCauses && error instanceof AggregateError
      ? { errors: error.errors.slice(0, mostErrors).map((one) => loggedError(one, depth + 1)) }
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
  // V8 quotes the pattern or the JSON that it could not read, or the value that is no number.
  if (error instanceof SyntaxError) return 'left out, as it may quote what could not be read';
  return withoutValues(error.message);
}

/** Whether Node.js made it of an answer of the operating system. */
function isOfSystem(error: Error): boolean {
  return (
    typeof Reflect.get(error, 'syscall') === 'string' && typeof Reflect.get(error, 'errno') === 'number' && !('cmd' in error)
  );
}

/** Cut before it is searched, so that a message of megabytes costs nothing. */
function withoutValues(message: string): string {
  const short = message
    .slice(0, longestMessage)
    .replace(/(["'`])(?:(?!\1)[^\\]|\\.)*(?:\1|$)/gs, '$1…$1')
    .replace(/\/[^/\n]{16,}\//g, '/…/')
    .replace(/(operator to search for \S+ in )[^]*/, '$1…')
    .replace(/\S{24,}/g, '…');
  return short.length > longestUnknownMessage ? `${short.slice(0, longestUnknownMessage)}…` : short;
}

/** Where it was thrown, without the message that a stack begins with. */
function framesOf(error: Error): string {
  const stack = error.stack ?? '';
  const head = stack.indexOf(error.message);
  const frames = head < 0 || error.message === '' ? stack : stack.slice(head + error.message.length);
  const lines = frames
    .split('\n', mostFrames + 1)
    .filter((line) => /^ {4}at [\w.#<>[\] ]*\(?(?:file:|node:|\/|<anonymous>|native)/.test(line));
  return lines.map((line) => line.slice(0, 300)).join('\n');
}

function word(text: unknown): string | null {
  return typeof text === 'string' && /^\w{1,60}$/.test(text) ? text : null;
}
