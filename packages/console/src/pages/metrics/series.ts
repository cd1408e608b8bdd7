import type { CallAnswer } from '@davit/client';

export type Metrics = CallAnswer<'getApplicationMetrics'>;
type Step = Metrics['results'][number];

/** A line of a chart. */
export interface Line {
  readonly label: string;
  readonly colour: 'accent' | 'ok' | 'muted' | 'warn' | 'bad';
  readonly dash?: readonly number[];
  readonly value: (step: Step, stepSeconds: number) => number | null;
}

export interface ChartDefinition {
  readonly title: string;
  readonly format: (value: number) => string;
  /** Whether round numbers of the axis are powers of two. */
  readonly isBinary?: true;
  readonly lines: readonly Line[];
}

const kibi = 1024;
const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** Returns an amount in the largest unit in which it is at least one. */
export function scaled(value: number, units: readonly string[], base = kibi): string {
  let amount = value;
  let unit = 0;
  while (amount >= base && unit < units.length - 1) {
    amount /= base;
    unit += 1;
  }
  return `${number.format(amount)} ${units[unit] ?? ''}`.trim();
}

const cores = (value: number): string => (value >= 1000 ? `${number.format(value / 1000)} cores` : `${number.format(value)} m`);
const memory = (value: number): string => scaled(value, ['MiB', 'GiB', 'TiB']);
const rate = (value: number): string => scaled(value, ['B/s', 'KiB/s', 'MiB/s', 'GiB/s']);
const perSecond = (value: number): string => `${number.format(value)}/s`;
const time = (value: number): string => (value >= 1000 ? `${number.format(value / 1000)} s` : `${number.format(value)} ms`);

export const dashes: readonly number[] = [6, 4];
const dots: readonly number[] = [2, 3];
const classes = [
  ['2xx', 'ok', undefined],
  ['3xx', 'muted', dashes],
  ['4xx', 'warn', dots],
  ['5xx', 'bad', undefined],
] as const;

export const charts: readonly ChartDefinition[] = [
  {
    title: 'Processor',
    format: cores,
    lines: [{ label: 'Used', colour: 'accent', value: ({ cpu }) => cpu }],
  },
  {
    title: 'Memory',
    format: memory,
    isBinary: true,
    lines: [
      { label: 'Average', colour: 'accent', value: (step) => step.memory },
      { label: 'Highest', colour: 'muted', dash: dashes, value: (step) => step.maximum_memory },
    ],
  },
  {
    title: 'Instances',
    format: (value) => number.format(value),
    lines: [{ label: 'Running', colour: 'accent', value: ({ instances }) => instances }],
  },
  {
    title: 'Network',
    format: rate,
    isBinary: true,
    lines: [
      { label: 'Received', colour: 'accent', value: (step, seconds) => step.network_received_bytes / seconds },
      { label: 'Sent', colour: 'muted', dash: dashes, value: (step, seconds) => step.network_sent_bytes / seconds },
    ],
  },
  {
    title: 'Requests',
    format: perSecond,
    lines: [{ label: 'Requests', colour: 'accent', value: ({ requests }, seconds) => requests / seconds }],
  },
  {
    title: 'Responses by class',
    format: perSecond,
    lines: classes.map(([name, colour, dash]) => ({
      label: name,
      colour,
      ...(dash !== undefined && { dash }),
      value: ({ responses }, seconds) => responses[name] / seconds,
    })),
  },
  {
    title: 'Latency',
    format: time,
    lines: [
      { label: 'Half of the requests', colour: 'accent', value: (step) => step.latency_ms?.p50 ?? null },
      { label: '90 of 100', colour: 'muted', dash: dashes, value: (step) => step.latency_ms?.p90 ?? null },
      { label: '99 of 100', colour: 'muted', dash: dots, value: (step) => step.latency_ms?.p99 ?? null },
    ],
  },
  {
    title: 'Volumes',
    format: memory,
    isBinary: true,
    lines: [{ label: 'Used', colour: 'accent', value: ({ volumes }) => volumes }],
  },
];

/** Values over time: the seconds since 1970 of each step, and for each line its value there. null: not measured. */
export interface Series {
  readonly times: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
}

const thousand = 1000;

/** Returns the values of a chart from `from` to `to`, in milliseconds. Steps that the answer lacks are gaps. */
export function seriesOf({ lines }: ChartDefinition, metrics: Metrics, from: number, to: number): Series {
  const { step_seconds: seconds, results } = metrics;
  const steps = new Map(results.map((step) => [Math.floor(Date.parse(step.at) / thousand / seconds), step]));
  const first = Math.ceil(from / thousand / seconds);
  const last = Math.floor(to / thousand / seconds);
  const positions = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  return {
    times: positions.map((position) => position * seconds),
    values: lines.map((line) =>
      positions.map((position) => {
        const step = steps.get(position);
        return step === undefined ? null : line.value(step, seconds);
      }),
    ),
  };
}

/** Returns a line in words: the newest value, the average and the highest with its time. null: nothing was measured. */
export function summaryOf(
  { times, values }: Series,
  format: ChartDefinition['format'],
  clock: (at: number) => string,
): string | null {
  const [line = []] = values;
  const known = line.flatMap((value, index) => (value === null ? [] : [{ value, at: times[index] ?? 0 }]));
  const [first, ...rest] = known;
  const newest = known.at(-1);
  if (first === undefined || newest === undefined) return null;
  const highest = rest.reduce((most, one) => (one.value > most.value ? one : most), first);
  const average = known.reduce((sum, { value }) => sum + value, 0) / known.length;
  return `${format(newest.value)} at ${clock(newest.at)}; average ${format(average)}, highest ${format(highest.value)} at ${clock(highest.at)}`;
}

/** Returns whether a chart has anything to show: services without volumes have no chart of them. */
export function isMeasured({ values }: Series): boolean {
  return values.some((line) => line.some((value) => value !== null));
}
