import { useEffect, useRef, useState, type ReactNode } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { Box } from '../../parts/page.tsx';
import { dashes, summaryOf, type ChartDefinition, type Series } from './series.ts';

/** A deployment on the axis of time. */
export interface Marker {
  /** Seconds since 1970. */
  readonly at: number;
  readonly label: string;
  readonly isFailed: boolean;
}

interface ChartProps {
  readonly chart: ChartDefinition;
  readonly series: Series;
  /** Seconds since 1970 at which the axis of time ends: that of all charts is the same. */
  readonly until: number;
  readonly markers: readonly Marker[];
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const calendar = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const longDay = 25 * 3600;

/** Returns how times of a chart are written: with the date where one day is not enough. */
function clockFor({ times }: Series, until: number): (seconds: number) => string {
  const isLong = until - (times[0] ?? until) > longDay;
  return (seconds) => (isLong ? calendar : clock).format(seconds * 1000);
}
const height = 160;
const powersOfTwo = Array.from({ length: 40 }, (_, power) => 2 ** power);

/** A chart with its summary in words and its values as a table. */
export function Chart({ chart, series, until, markers }: ChartProps): ReactNode {
  const { title, format } = chart;
  const clockOf = clockFor(series, until);
  const summary = summaryOf(series, format, clockOf) ?? 'Nothing was measured in this time.';
  return (
    <Box title={title}>
      <p className="chart-summary">{summary}</p>
      <Plot chart={chart} series={series} until={until} markers={markers} label={`${title}: ${summary}`} />
      <details className="chart-table">
        <summary>
          As a table<span className="sr-only">: {title}</span>
        </summary>
        {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls must be reached by keyboard */}
        <div tabIndex={0} role="group" aria-label={`${title}, all values`}>
          <Values chart={chart} series={series} clockOf={clockOf} />
        </div>
      </details>
    </Box>
  );
}

interface ValuesProps extends Pick<ChartProps, 'chart' | 'series'> {
  readonly clockOf: (seconds: number) => string;
}

function Values({ chart: { lines, format }, series: { times, values }, clockOf }: ValuesProps): ReactNode {
  const rows = times.map((at, index) => ({ at, cells: values.map((line) => line[index] ?? null) }));
  return (
    <table>
      <thead>
        <tr>
          <th>Time</th>
          {lines.map(({ label }) => (
            <th key={label}>{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.toReversed().map(({ at, cells }) => (
          <tr key={at}>
            <td>{clockOf(at)}</td>
            {lines.map(({ label }, index) => {
              const cell = cells[index] ?? null;
              return <td key={label}>{cell === null ? '–' : format(cell)}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type PlotProps = ChartProps & { readonly label: string };

function Plot({ chart, series, until, markers, label }: PlotProps): ReactNode {
  const position = useRef<HTMLDivElement>(null);
  const theme = useThemeChanges();
  useEffect(() => {
    const element = position.current;
    if (element === null) return undefined;
    const data: UPlot.AlignedData = [[...series.times], ...series.values.map((line) => [...line])];
    const plot = new UPlot(optionsOf({ chart, series, until, markers }, element), data, element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [chart, series, until, markers, theme]);
  return <div ref={position} className="chart" role="img" aria-label={label} />;
}

/** Returns a number that changes with the theme: a canvas does not follow the page's colours by itself. */
function useThemeChanges(): number {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const changed = (): void => setChanges((count) => count + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    const own = new MutationObserver(changed);
    own.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    system.addEventListener('change', changed);
    return () => {
      own.disconnect();
      system.removeEventListener('change', changed);
    };
  }, []);
  return changes;
}

/** Returns the colour of a token in the current theme. */
function colourOf(token: string, element: HTMLElement): string {
  const probe = document.createElement('i');
  probe.style.color = `var(--${token})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function optionsOf({ chart, series, until, markers }: ChartProps, element: HTMLElement): UPlot.Options {
  const clockOf = clockFor(series, until);
  const isLong = until - (series.times[0] ?? until) > longDay;
  const { lines, format, isBinary } = chart;
  const from = series.times[0] ?? until;
  const font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const muted = colourOf('muted', element);
  const grid = { stroke: colourOf('line', element), width: 1 };
  const axis = { stroke: muted, font, grid, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    cursor: { sync: { key: 'metrics' }, drag: { x: false, y: false }, points: { size: 6 } },
    padding: [8, 8, 0, 0],
    scales: { x: { range: () => [from, until] }, y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        values: (_plot, splits) => splits.map((at) => (isLong ? day.format(at * 1000) : clockOf(at))),
        space: 64,
        size: 24,
      },
      {
        ...axis,
        values: (_plot, splits) => splits.map(format),
        size: 76,
        space: 36,
        ...(isBinary === true && { incrs: powersOfTwo }),
      },
    ],
    series: [
      { label: 'Time', value: (_plot, at) => (at === null ? '–' : clockOf(at)) },
      ...lines.map(({ label, colour, dash }) => ({
        label: dash === undefined ? label : `${label} (${dash[0] === dashes[0] ? 'dashed' : 'dotted'})`,
        stroke: colourOf(colour, element),
        width: 1.5,
        points: { show: false },
        ...(dash !== undefined && { dash: [...dash] }),
        value: (_plot: UPlot, value: number | null) => (value === null ? '–' : format(value)),
      })),
    ],
    hooks: { draw: [(plot) => drawMarkers(plot, markers, colourOf('bad', element), muted)] },
  };
}

function drawMarkers(plot: UPlot, markers: readonly Marker[], bad: string, muted: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.setLineDash([3, 3]);
  for (const { at, isFailed } of markers) {
    const x = Math.round(plot.valToPos(at, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = isFailed ? bad : muted;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
