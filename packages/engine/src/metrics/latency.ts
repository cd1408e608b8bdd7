import { latencyBucketsMilliseconds } from '@davit/drivers';

export interface Latency {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

/**
 * Returns percentiles in milliseconds, estimated from buckets: values are taken as evenly distributed within a bucket,
 * and the last bucket counts at its lower bound. null if there are no counts.
 */
export function latencyOf(counts: readonly number[] | null): Latency | null {
  const total = (counts ?? []).reduce((sum, count) => sum + count, 0);
  if (counts === null || total === 0) return null;
  return { p50: percentile(counts, total * 0.5), p90: percentile(counts, total * 0.9), p99: percentile(counts, total * 0.99) };
}

function percentile(counts: readonly number[], rank: number): number {
  let below = 0;
  for (const [index, upper] of latencyBucketsMilliseconds.entries()) {
    const count = counts[index] ?? 0;
    const lower = latencyBucketsMilliseconds[index - 1] ?? 0;
    if (count > 0 && below + count >= rank) return Math.round((lower + ((upper - lower) * (rank - below)) / count) * 10) / 10;
    below += count;
  }
  return latencyBucketsMilliseconds.at(-1) ?? 0;
}
