import type { Suspicion } from './failures.ts';
import type { InstanceFacts } from './instance-facts.ts';

/**
 * A cause that keeps an instance from starting. Its time counts from when the fault was first seen, because a node that
 * joins late may also fail at first.
 */
export interface Fault {
  /** Unchanged as long as the same pod has the same kind of fault. */
  readonly id: string;
  /** How long the fault may last before it counts as permanent. */
  readonly milliseconds: number;
  readonly suspicion: Suspicion;
}

/** Returns when each fault was first seen: earlier times for faults that persist, `now` for new ones. Pure. */
export function withFirstSeen(
  before: ReadonlyMap<string, number>,
  faults: readonly (Fault | null)[],
  now: number,
): ReadonlyMap<string, number> {
  const lasts = new Map<string, number>();
  for (const fault of faults) if (fault !== null) lasts.set(fault.id, before.get(fault.id) ?? now);
  return lasts;
}

/**
 * Creates a fault. `milliseconds` is 0 for a permanent fault. `kind` separates faults whose waits follow each other.
 * Pure.
 */
export function toFault(
  { name, pod }: InstanceFacts,
  milliseconds: number,
  suspicion: Suspicion,
  kind: string = suspicion.type,
): Fault {
  return { id: [name, pod?.metadata?.uid ?? '', kind].join(' '), milliseconds, suspicion };
}
