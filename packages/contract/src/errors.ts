import Type, { type Static } from 'typebox';
import { about, Named } from './shape.ts';

/**
 * Every error code of the API with its HTTP status. `docs/errors.md` lists exactly these codes; a test compares both.
 */
export const errorCodes = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  MALFORMED_REQUEST: 400,
  INVALID_REFERENCE: 400,
  NOT_SUPPORTED: 400,
  VARIABLE_NOT_EDITABLE: 400,
  VARIABLE_CYCLE: 400,
  STAGE_NOT_EMPTY: 400,
  SOURCE_NOT_USABLE: 400,
  AUTHORIZATION_PENDING: 400,
  SLOW_DOWN: 400,
  ACCESS_DENIED: 400,
  DEVICE_CODE_EXPIRED: 400,
  SIGN_IN_EXPIRED: 400,
  EXPRESSION_TOO_SLOW: 400,
  UNAUTHORIZED: 401,
  TOKEN_EXPIRED: 401,
  SIGN_IN_REFUSED: 401,
  SECOND_FACTOR_REQUIRED: 401,
  FORBIDDEN: 403,
  BILLING_RESTRICTION: 403,
  ORIGIN_REFUSED: 403,
  NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  NAME_TAKEN: 409,
  KEY_TAKEN: 409,
  ALREADY_EXISTS: 409,
  DOMAIN_TAKEN: 409,
  IN_USE: 409,
  BEING_DELETED: 409,
  NOTHING_TO_CANCEL: 409,
  ALREADY_STARTED: 409,
  NEVER_DEPLOYED: 409,
  DATABASE_NOT_RUNNING: 409,
  BACKUP_NOT_GOOD: 409,
  RESTORE_UNDER_WAY: 409,
  RELEASE_NOT_USABLE: 409,
  ALREADY_MEMBER: 409,
  ALREADY_INVITED: 409,
  INVITATION_EXPIRED: 409,
  LINK_NOT_VALID: 409,
  NO_PASSWORD: 409,
  NOTHING_TO_CONFIRM: 409,
  EMAIL_TAKEN: 409,
  OWNER_REQUIRED: 409,
  WEBHOOK_DISABLED: 409,
  CLUSTER_LOCKED: 409,
  CLUSTER_IS_DEFAULT: 409,
  CLUSTER_NOT_DEPLOYED: 409,
  CLUSTER_NOT_PROVISIONABLE: 409,
  CLUSTER_KIND_UNSUPPORTED: 409,
  IDEMPOTENCY_KEY_REUSED: 409,
  IDEMPOTENCY_KEY_BUSY: 409,
  IDEMPOTENCY_ANSWER_LOST: 409,
  PRECONDITION_FAILED: 412,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  CLUSTER_UNREACHABLE: 424,
  REMOTE_UNREACHABLE: 424,
  REMOTE_REFUSED: 424,
  REMOTE_NOT_UNDERSTOOD: 424,
  RATE_LIMITED: 429,
  TOO_MANY_STREAMS: 429,
  TOO_MANY_SEARCHES: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  DATABASE_UNAVAILABLE: 503,
  ISSUER_UNAVAILABLE: 503,
  OVERLOADED: 503,
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** The HTTP reason phrase of each status, for the field `error`. */
export const statusNames: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  424: 'Failed Dependency',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** The body of every error response. `detail` repeats `message`, as some clients read `detail` and others `message`. */
export const ErrorBody = Named(
  'ErrorBody',
  Type.Object({
    status: about('The HTTP status of the response, as a number.', Type.Integer()),
    error: about('The name of the HTTP status, for example `Conflict`.', Type.String()),
    message: about('What is wrong and what to do, as a sentence for a person. It may change between versions.', Type.String()),
    detail: about('The same text as `message`, for clients that read this field.', Type.String()),
    code: about('The cause, for programs, for example `NAME_TAKEN`. A code keeps its meaning.', Type.String()),
    errors: Type.Optional(
      about(
        'The fields that are wrong. Absent if the error concerns no field. Of a body over 32 KiB only the first is reported.',
        Type.Array(
          Type.Object({
            path: about(
              'The field, with the fields and list positions above it, joined by dots: `ports.0.protocol`.',
              Type.String(),
            ),
            message: about('The rule that the field breaks, for example `is required`.', Type.String()),
          }),
        ),
      ),
    ),
    request_id: Type.Optional(about('Finds the cause in the log of Davit. Present only if `status` is 500.', Type.String())),
  }),
  'Every error has this body.',
);
export type ErrorBody = Static<typeof ErrorBody>;
