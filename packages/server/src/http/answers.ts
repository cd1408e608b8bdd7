import { isAppError, type ErrorDetail } from '@davit/base';
import { errorCodes, statusNames, type ErrorCode } from '@davit/contract';

/** The body of every error response. */
export interface ErrorAnswer {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly errors?: readonly ErrorDetail[];
  readonly request_id?: string;
}

export function errorAnswer(code: ErrorCode, message: string, errors: readonly ErrorDetail[] = []): ErrorAnswer {
  const status = errorCodes[code];
  const answer = { status, error: statusNames[status] ?? 'Error', message, detail: message, code };
  return errors.length === 0 ? answer : { ...answer, errors };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code);
}

export const wrongMediaType = 'The body must be JSON: send `Content-Type: application/json`.';

/** Error codes of Fastify that map to a code of the catalogue, with the message to send. */
const frameworkCodes: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['BODY_TOO_LARGE', 'The body is larger than this server accepts.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', wrongMediaType],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['MALFORMED_REQUEST', 'The length of the body differs from Content-Length.'],
  FST_ERR_MAX_PARAM_LENGTH: ['ROUTE_NOT_FOUND', 'A part of the path is longer than any id.'],
  FST_ERR_BAD_URL: ['ROUTE_NOT_FOUND', 'The path is not a valid URL path.'],
};

/**
 * Returns the error response for anything thrown. An error without a code of the catalogue is a bug: its response
 * contains only the request id, under which the log has the details.
 */
export function answerOf(error: unknown, requestId: string): ErrorAnswer {
  if (isAppError(error) && isErrorCode(error.code)) return errorAnswer(error.code, error.message, error.errors);
  if (error instanceof Error && !isAppError(error)) {
    const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
    const known = frameworkCodes[code];
    if (known !== undefined) return errorAnswer(...known);
    const status = 'statusCode' in error ? error.statusCode : undefined;
    if (code.startsWith('FST_') && typeof status === 'number' && status >= 400 && status < 500) {
      return errorAnswer('MALFORMED_REQUEST', 'The request could not be read.');
    }
  }
  const message = `Davit failed internally. The server's log has the details under the request id ${requestId}.`;
  return { ...errorAnswer('INTERNAL', message), request_id: requestId };
}
