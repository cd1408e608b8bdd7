/** One invalid field of a request: `path` as in `ports.0.internal_port`; `message` states what would be valid. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

export interface AppErrorInput {
  /**
   * Error code from a catalogue (`contract`'s `errorCodes` for responses, `drivers`' `causes` for failures of a
   * cluster).
   */
  readonly code: string;
  /** Message for the caller: what is wrong and what to do. Never contains secrets or internals. */
  readonly message: string;
  readonly errors?: readonly ErrorDetail[];
  /** The caught error, for Davit's developers. Not shown to callers. */
  readonly cause?: unknown;
}

/** An expected failure with a code. Any other thrown error is a bug and results in HTTP status 500. */
export class AppError extends Error {
  readonly code: string;
  readonly errors: readonly ErrorDetail[];

  constructor(input: AppErrorInput) {
    super(input.message, input.cause === undefined ? undefined : { cause: input.cause });
    this.name = 'AppError';
    this.code = input.code;
    this.errors = input.errors ?? [];
  }
}

export function isAppError(error: unknown): error is AppError {
  return error instanceof AppError;
}

/** Marks a branch that the types exclude; reaching it is a bug. */
export function never(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
