import { pino, type Logger, type LoggerOptions } from 'pino';
import type { Configuration } from '../configuration.ts';
import { loggedError } from './log-errors.ts';
import { LogOutput } from './log-output.ts';

const standardError = 2;
const hidden = ['req.headers', 'request.headers', '*.headers', '*.authorization', '*.token', '*.password', '*.secret', '*.value'];

export interface ServerLog {
  readonly logger: Logger;
  readonly output: LogOutput;
}

/**
 * Creates the server's log: JSON lines on standard error, since standard output is for people. Headers are never
 * logged, and of errors only the parts that contain no value of a user (`loggedError`).
 */
export function createLog(config: Pick<Configuration, 'logLevel'>, output = new LogOutput(standardError)): ServerLog {
  const serializers = { err: loggedError, error: plain, reason: plain, cause: plain };
  const redact = { paths: hidden, censor: '[REDACTED]' };
  return { logger: pino({ level: config.logLevel, base: null, redact, serializers, hooks: { logMethod } }, output), output };
}

/** Adds a message to lines without one: otherwise, pino copies the message of the error, bypassing the serializer. */
const logMethod: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function named(args, method) {
  const [details, message]: readonly unknown[] = args;
  if (message !== undefined || typeof details !== 'object') return method.apply(this, args);
  return method.apply(this, [details instanceof Error ? { err: details } : details, 'an error without a message']);
};

function plain(value: unknown): unknown {
  return value instanceof Error ? loggedError(value) : value;
}
