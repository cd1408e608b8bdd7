import { pino, type Logger, type LoggerOptions } from 'pino';
import type { Configuration } from './config.ts';
import { loggedError } from './log-errors.ts';
import { LogOutput } from './log-output.ts';

const standardError = 2;
const hidden = ['req.headers', 'request.headers', '*.headers', '*.authorization', '*.token', '*.password', '*.secret', '*.value'];

export interface ServerLog {
  readonly logger: Logger;
  readonly output: LogOutput;
}

/**
 * Log of the server: JSON lines on standard error, as standard output is for people. Headers never get into it, and of an error only
 * what is known to carry no value (`loggedError`).
 */
export function createLog(config: Pick<Configuration, 'logLevel'>, output = new LogOutput(standardError)): ServerLog {
  const serializers = { err: loggedError, error: plain, reason: plain, cause: plain };
  const redact = { paths: hidden, censor: '[REDACTED]' };
  return { logger: pino({ level: config.logLevel, base: null, redact, serializers, hooks: { logMethod } }, output), output };
}

/** Gives a line a message of its own: pino takes that of a line that has none from its error, past the serializer. */
const logMethod: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function named(args, method) {
  const [details, message]: readonly unknown[] = args;
  if (message !== undefined || typeof details !== 'object') return method.apply(this, args);
  return method.apply(this, [details instanceof Error ? { err: details } : details, 'an error without a message']);
};

function plain(value: unknown): unknown {
  return value instanceof Error ? loggedError(value) : value;
}
