import { ApiError } from '@davit/client';
import { version } from './version.ts';

/** The exit codes, by their meaning. Programs rely on them, so that they never change. */
export const exitCodes = {
  done: 0,
  failed: 1,
  declined: 3,
  notSignedIn: 4,
  deploymentFailed: 5,
  waitedTooLong: 6,
  misused: 64,
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A failure that the command line reports itself. `advice`: what to do, often a command that can be run as it is. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  readonly advice: readonly string[];

  constructor(
    message: string,
    { exitCode = exitCodes.failed, advice = [] }: Partial<Pick<CliError, 'exitCode' | 'advice'>> = {},
  ) {
    super(message);
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.advice = advice;
  }
}

/** Returns the error for a wrong or missing word on the command line. */
export function misused(message: string, ...advice: readonly string[]): CliError {
  return new CliError(message, { exitCode: exitCodes.misused, advice });
}

/** An error in the words of the terminal. */
export interface Explanation {
  readonly message: string;
  /** The error code of the API; null if the error is not from the API. */
  readonly code: string | null;
  readonly advice: readonly string[];
  readonly exitCode: ExitCode;
}

/** Codes of Node.js for certificates that are not trusted. */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
]);
const wrongTime = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Returns what to report of an error. `server`: the address of the server that was called; null if none was. */
export function explain(error: unknown, server: string | null): Explanation {
  if (error instanceof CliError) return { message: error.message, code: null, advice: error.advice, exitCode: error.exitCode };
  if (error instanceof ApiError) return explainApi(error, server);
  const code = codeOf(error);
  if (error instanceof TypeError && /^(fetch failed|terminated)$/.test(error.message))
    return explainConnection(error, code, server);
  return { message: messageOf(error), code: null, advice: [], exitCode: exitCodes.failed };
}

/** Returns the message of something that was thrown, which may be no error at all. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

function explainApi(error: ApiError, server: string | null): Explanation {
  const { status, code, errors, requestId } = error;
  if (status === 401) {
    const advice = [`Sign in: davit login${server === null ? '' : ` ${server}`}`];
    return { message: error.message, code, advice, exitCode: exitCodes.notSignedIn };
  }
  const fields = errors.filter(({ path, message }) => !error.message.includes(`${path} ${message}`));
  const advice = fields.map(({ path, message }) => `${path} ${message}`);
  if (code === 'ROUTE_NOT_FOUND' || (code === 'UNKNOWN' && status === 404)) {
    advice.push(
      `${server ?? 'The server'} does not know this operation: it has another version than this command line (${version}).`,
      `Its own command line fits: curl -fo davit.mjs ${server ?? 'SERVER'}/cli/davit.mjs`,
    );
  }
  if (requestId !== null) advice.push(`The log of the server has the cause under ${requestId}.`);
  if (error.retryAfterSeconds !== null) advice.push(`Try again in ${error.retryAfterSeconds} s.`);
  return { message: error.message, code: code === 'UNKNOWN' ? null : code, advice, exitCode: exitCodes.failed };
}

function explainConnection(error: Error, code: string, server: string | null): Explanation {
  const at = server ?? 'the server';
  const failed = { code: null, exitCode: exitCodes.failed };
  if (untrusted.has(code)) {
    const advice = [
      'If it is yours, name the certificate of the authority that signed it:',
      `NODE_EXTRA_CA_CERTS=/path/to/authority.pem davit …`,
    ];
    return { ...failed, message: `The certificate of ${at} is not trusted (${code}).`, advice };
  }
  if (wrongTime.has(code)) {
    const advice = [`The clock of this machine says ${new Date().toISOString()}. If that is wrong, set it.`];
    return { ...failed, message: `The certificate of ${at} is not valid now (${code}).`, advice };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return { ...failed, message: `The certificate of ${at} is for another host.`, advice: ['Use the name in the certificate.'] };
  }
  const cause = error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : code;
  const advice = ['Check the address and that Davit runs there: davit context list'];
  return { ...failed, message: `${at} does not answer (${cause}).`, advice };
}

/** Returns the code of an error or of its cause, for example ECONNREFUSED; an empty text if it has none. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return codeOf(first ?? error.cause);
}
