import type { Place } from './place.ts';
import type { Series } from './statistics.ts';

export type Unit = 'requests/s' | 'ms' | 's' | 'MB' | 'requests';

/** One line of the table. */
export interface Measurement {
  readonly what: string;
  readonly unit: Unit;
  readonly davit: Series;
  /** null: the target is absolute, there is nothing to compare with. */
  readonly floor: Series | null;
  readonly ratio: number | null;
  readonly target: string;
  /** null: told for orientation, no target. */
  readonly isMet: boolean | null;
  /** What else was seen; goes into the JSON only. */
  readonly details?: unknown;
}

/** A row of the budget table. */
export interface Row {
  /** What `npm run bench -- <name>` calls it. */
  readonly name: string;
  readonly about: string;
  run(place: Place): Promise<Measurement[]>;
}

/** `limit` as a ratio that must be reached, or must not be exceeded. */
export type RatioTarget = { readonly atLeast: number } | { readonly atMost: number };

export function ratioVerdict(ratio: number, target: RatioTarget): Pick<Measurement, 'target' | 'isMet'> {
  return 'atLeast' in target
    ? { target: `≥ ${target.atLeast}`, isMet: ratio >= target.atLeast }
    : { target: `≤ ${target.atMost}`, isMet: ratio <= target.atMost };
}
