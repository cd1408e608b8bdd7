import type { Deps } from '../deps.ts';
import { proveDue, type ProofMemory } from '../resources/custom-domain/index.ts';
import { follow, type Followed, type FollowLog } from './clock.ts';

const intervalMilliseconds = 5_000;

/** Checks the proofs of custom domains until it is stopped. Several processes may run it concurrently. */
export function followProofs(deps: Deps, log: FollowLog): Followed {
  const memory: ProofMemory = new Map();
  const look = (now: Date): Promise<void> => proveDue(deps, memory, now.getTime());
  const onFailure = (error: unknown): void => log.warn({ err: error }, 'the proofs of custom domains could not be checked');
  return follow(look, onFailure, { intervalMilliseconds });
}
