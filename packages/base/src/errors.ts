/** One place of a request that is wrong: `path` as in `ports.0.internal_port`, `message` says what would be right. */
export interface ErrorDetail {
  readonly path: string;
  readonly message: string;
}

export interface AppErrorInput {
  /** A code of the catalogue (`contract`'s `errorCodes` for answers, `drivers`' `causes` for failures of a cluster). */
  readonly code: string;
  /** For the caller: what is wrong and what to do. Never a secret, never internals. */
  readonly message: string;
  readonly errors?: readonly ErrorDetail[];
  /** For us: what was caught. Not shown to callers. */
  readonly cause?: unknown;
}

/** An expected failure that has a code. Anything else that is thrown is a bug and answers 500. */
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

/** Marks a branch that the types rule out; reaching it is a bug. */
export function never(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
