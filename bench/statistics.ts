/** The value in the middle; the mean of the two for an even number of values. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The value that `share` (0 to 1) of the values do not exceed. NaN for none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Rounds of one side and what became of them. */
export interface Series {
  readonly rounds: readonly number[];
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function toSeries(rounds: readonly number[]): Series {
  return { rounds, median: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}

/**
 * How the sides compare: the median of the quotients of neighbouring rounds. Each round of Davit is divided by the round of the
 * floor that ran right beside it, so that a machine that gets slower half-way does not count for one side only.
 */
export function ratioOf(davit: Series, floor: Series): number {
  return median(davit.rounds.map((value, index) => value / (floor.rounds[index] ?? Number.NaN)));
}
