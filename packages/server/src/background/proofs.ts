import type { Deps } from '../deps.ts';
import { proveDue, type ProofMemory } from '../resources/custom-domain/index.ts';

const lookEveryMilliseconds = 5_000;

export interface ProofWatch {
  /** Stops the loop and waits for the running check. */
  stop(): Promise<void>;
}

/** Checks the proofs of custom domains until it is stopped. Several processes may run it concurrently. */
export function followProofs(deps: Deps, log: { warn(details: object, message: string): void }): ProofWatch {
  const memory: ProofMemory = new Map();
  let underway: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      await proveDue(deps, memory, Date.now());
    } catch (error) {
      log.warn({ err: error }, 'proofs of custom domains could not be looked for');
    }
  };
  const timer = setInterval(() => {
    underway ??= look().finally(() => (underway = undefined));
  }, lookEveryMilliseconds);
  return {
    stop: async () => {
      clearInterval(timer);
      await underway;
    },
  };
}
