import { Histogram, type Family, type HistogramSeries } from './series.ts';

const endsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Durations of requests by operation and class of status. */
export class RequestDurations {
  readonly #histogram = new Histogram('davit_request_duration_seconds', 'Duration of requests by operation.', endsSeconds);
  // Series are cached, so that a request does not build label texts.
  readonly #series = new Map<string, HistogramSeries[]>();

  observe(operation: string, status: number, milliseconds: number): void {
    const statusClass = Math.floor(status / 100);
    let byStatus = this.#series.get(operation);
    if (byStatus === undefined) this.#series.set(operation, (byStatus = []));
    const series = (byStatus[statusClass] ??= this.#histogram.of({ operation, status: `${statusClass}xx` }));
    series.observe(milliseconds / 1000);
  }

  get family(): Family {
    return this.#histogram.family;
  }
}
