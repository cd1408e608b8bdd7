import { pause } from './pause.ts';

export interface RetryOptions {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number;
  /** Milliseconds before the second attempt; the pause doubles each time. */
  readonly firstPauseMilliseconds: number;
  /** Upper bound of a pause in milliseconds. */
  readonly maximumPauseMilliseconds: number;
  readonly signal?: AbortSignal;
  /** Whether the failure may be temporary. Other failures are thrown at once. */
  readonly isRetryable: (error: unknown) => boolean;
  readonly onRetry?: (error: unknown, attempt: number) => void;
}

/** Returns the milliseconds before attempt `attempt + 1`: doubles from `first`, never above `maximum`. */
export function backoffMilliseconds(attempt: number, first: number, maximum: number): number {
  return Math.min(maximum, first * 2 ** Math.max(0, attempt - 1));
}

/** Calls `action` until it succeeds, fails permanently, or the attempts are exhausted; then throws the last failure. */
export async function retry<T>(options: RetryOptions, action: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await action();
    } catch (error) {
      if (attempt >= options.attempts || !options.isRetryable(error) || options.signal?.aborted) throw error;
      options.onRetry?.(error, attempt);
      await pause(backoffMilliseconds(attempt, options.firstPauseMilliseconds, options.maximumPauseMilliseconds), options.signal);
    }
  }
}
