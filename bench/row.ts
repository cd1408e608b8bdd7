import type { Place } from './place.ts';
import type { Series } from './statistics.ts';

export type Unit = 'requests/s' | 'ms' | 's' | 'µs' | 'MB' | 'requests' | 'deployments/s' | 'lines/s' | '%';

/** One line of the table. */
export interface Measurement {
  readonly what: string;
  readonly unit: Unit;
  readonly davit: Series;
  /** Results of the floor. null: the target is absolute, so there is no comparison. */
  readonly floor: Series | null;
  readonly ratio: number | null;
  readonly target: string;
  /** Whether the target is met. null: the measurement is informative and has no target. */
  readonly isMet: boolean | null;
  /** Further observations, written to the JSON only. */
  readonly details?: unknown;
}

/** A row of the budget table. */
export interface Row {
  /** The name of the row in `npm run bench -- <name>`. */
  readonly name: string;
  readonly about: string;
  run(location: Place): Promise<Measurement[]>;
}

/** A limit of the ratio: a minimum or a maximum. */
export type RatioTarget = { readonly atLeast: number } | { readonly atMost: number };

export function ratioVerdict(ratio: number, target: RatioTarget): Pick<Measurement, 'target' | 'isMet'> {
  return 'atLeast' in target
    ? { target: `≥ ${target.atLeast}`, isMet: ratio >= target.atLeast }
    : { target: `≤ ${target.atMost}`, isMet: ratio <= target.atMost };
}
