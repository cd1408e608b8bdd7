import { Loop, systemClock, type Clock } from '@davit/base';

export interface FollowLog {
  warn(details: object, message: string): void;
}

export interface Followed {
  /** Stops the loop and waits for the running call. */
  stop(): Promise<void>;
}

export interface FollowTiming {
  readonly clock?: Clock;
  /** Milliseconds between two calls, and so the longest delay of due work. Default: 10,000. */
  readonly intervalMilliseconds?: number;
}

/**
 * Calls `look` regularly, without overlap, until it is stopped. `look` rejects only if it could not check anything at
 * all.
 */
export function follow(look: (now: Date) => Promise<void>, onFailure: (error: unknown) => void, timing: FollowTiming): Followed {
  const { clock = systemClock, intervalMilliseconds = 10_000 } = timing;
  const loop = new Loop({ look: () => look(clock.now()), onError: onFailure, everyMilliseconds: intervalMilliseconds });
  loop.start();
  return loop;
}
