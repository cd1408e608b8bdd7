import type { Deps } from '../deps.ts';
import { proveDue, type ProofMemory } from '../resources/custom-domain/index.ts';

const lookEveryMilliseconds = 5_000;

export interface ProofWatch {
  /** Waits for what is under way. */
  stop(): Promise<void>;
}

/** Looks for proofs of custom domains until it is stopped. Several processes may do so side by side. */
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
