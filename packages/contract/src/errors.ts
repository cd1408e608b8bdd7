import Type, { type Static } from 'typebox';

/** Every code that an answer may carry, with its status. `docs/errors.md` lists exactly these; a test holds them equal. */
export const errorCodes = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  MALFORMED_REQUEST: 400,
  INVALID_REFERENCE: 400,
  NOT_SUPPORTED: 400,
  VARIABLE_NOT_EDITABLE: 400,
  VARIABLE_CYCLE: 400,
  STAGE_NOT_EMPTY: 400,
  UNAUTHORIZED: 401,
  TOKEN_EXPIRED: 401,
  FORBIDDEN: 403,
  BILLING_RESTRICTION: 403,
  NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  REQUEST_TIMEOUT: 408,
  NAME_TAKEN: 409,
  KEY_TAKEN: 409,
  IN_USE: 409,
  BEING_DELETED: 409,
  NOTHING_TO_CANCEL: 409,
  ALREADY_STARTED: 409,
  NEVER_DEPLOYED: 409,
  RELEASE_NOT_USABLE: 409,
  ALREADY_MEMBER: 409,
  ALREADY_INVITED: 409,
  INVITATION_EXPIRED: 409,
  OWNER_REQUIRED: 409,
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
  REMOTE_UNREACHABLE: 424,
  REMOTE_REFUSED: 424,
  REMOTE_NOT_UNDERSTOOD: 424,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  DATABASE_UNAVAILABLE: 503,
  ISSUER_UNAVAILABLE: 503,
  OVERLOADED: 503,
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** Names of statuses as HTTP has them, for `error`. */
export const statusNames: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
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

/** The body of every error. `detail` repeats `message`, as some clients read the one and some the other. */
export const ErrorBody = Type.Object({
  status: Type.Integer(),
  error: Type.String(),
  message: Type.String(),
  detail: Type.String(),
  code: Type.String(),
  errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: Type.String() }))),
  request_id: Type.Optional(Type.String()),
});
export type ErrorBody = Static<typeof ErrorBody>;
