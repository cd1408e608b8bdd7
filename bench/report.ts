import type { Measurement } from './row.ts';
import type { Series } from './statistics.ts';

const head = ['what', 'Davit', 'floor', 'ratio', 'target', 'met'];

/** Returns the table: medians, followed by the minimum and the maximum of all rounds. */
export function toTable(measurements: readonly Measurement[]): string {
  const rows = measurements.map((measurement) => [
    measurement.what,
    `${toText(measurement.davit)} ${measurement.unit}`,
    measurement.floor === null ? '–' : toText(measurement.floor),
    measurement.ratio === null ? '–' : measurement.ratio.toFixed(2),
    measurement.target,
    measurement.isMet === null ? '–' : measurement.isMet ? 'yes' : 'NO',
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(' | ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('-|-'), ...rows.map(line)].join('\n');
}

function toText({ rounds, median, least, most }: Series): string {
  return rounds.length === 1 ? toNumber(median) : `${toNumber(median)} (${toNumber(least)}–${toNumber(most)})`;
}

function toNumber(value: number): string {
  return value.toFixed(value < 10 && !Number.isInteger(value) ? 2 : 0);
}
