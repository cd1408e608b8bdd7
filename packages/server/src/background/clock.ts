import { systemClock, type Clock } from '@davit/base';

export interface FollowLog {
  warn(details: object, message: string): void;
}

export interface Followed {
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

export interface FollowTiming {
  readonly clock?: Clock;
  /** What is due is seen within this time. Default: 10,000. */
  readonly intervalMilliseconds?: number;
}

/** Looks again and again, never twice at a time, until it is stopped. `look` fails by itself only where it cannot look at all. */
export function follow(look: (now: Date) => Promise<void>, onFailure: (error: unknown) => void, timing: FollowTiming): Followed {
  const { clock = systemClock, intervalMilliseconds = 10_000 } = timing;
  let underway: Promise<void> | undefined;
  const timer = setInterval(() => {
    underway ??= (async () => look(clock.now()))()
      .catch(onFailure)
      .finally(() => (underway = undefined));
  }, intervalMilliseconds);
  return {
    stop: async () => {
      clearInterval(timer);
      await underway;
    },
  };
}
