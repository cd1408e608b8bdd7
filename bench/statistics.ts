/** Returns the median: the middle value, or the mean of the two middle values. NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Returns the quantile: the value that `share` (0 to 1) of the values do not exceed. NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The rounds of one side with their summary. */
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
 * Returns the ratio of the sides: the median of the quotients of neighbouring rounds. Each round of Davit is divided by
 * the round of the floor that ran next to it, so that a machine that slows down half-way affects both sides.
 */
export function ratioOf(davit: Series, floor: Series): number {
  return median(davit.rounds.map((value, index) => value / (floor.rounds[index] ?? Number.NaN)));
}
