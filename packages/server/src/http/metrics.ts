import type { Registry } from 'prom-client';

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  readonly operation: string;
  readonly status: string;
  readonly buckets: number[];
  count: number;
  sumSeconds: number;
}

/** Durations of requests by operation and class of status. Three additions a request, where a general histogram hashes labels. */
export class RequestDurations {
  readonly #series = new Map<string, Series[]>();

  observe(operation: string, status: number, milliseconds: number): void {
    const seconds = milliseconds / 1000;
    const series = this.#seriesOf(operation, Math.floor(status / 100));
    const bucket = bucketsSeconds.findIndex((limit) => seconds <= limit);
    if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
    series.count += 1;
    series.sumSeconds += seconds;
  }

  #seriesOf(operation: string, statusClass: number): Series {
    let byStatus = this.#series.get(operation);
    if (byStatus === undefined) this.#series.set(operation, (byStatus = []));
    return (byStatus[statusClass] ??= {
      operation,
      status: `${statusClass}xx`,
      buckets: bucketsSeconds.map(() => 0),
      count: 0,
      sumSeconds: 0,
    });
  }

  /** In Prometheus' text format. */
  render(): string {
    const name = 'davit_request_duration_seconds';
    const lines = [`# HELP ${name} Duration of requests by operation.`, `# TYPE ${name} histogram`];
    for (const series of [...this.#series.values()].flat()) {
      const labels = `operation="${series.operation}",status="${series.status}"`;
      let total = 0;
      for (const [index, limit] of bucketsSeconds.entries()) {
        total += series.buckets[index] ?? 0;
        lines.push(`${name}_bucket{${labels},le="${limit}"} ${total}`);
      }
      lines.push(`${name}_bucket{${labels},le="+Inf"} ${series.count}`);
      lines.push(`${name}_sum{${labels}} ${series.sumSeconds}`, `${name}_count{${labels}} ${series.count}`);
    }
    return `${lines.join('\n')}\n`;
  }
}

let registry: Promise<Registry> | undefined;

/** The process' own metrics. Loaded at the first scrape: who does not scrape does not pay for them. */
export async function processMetrics(): Promise<string> {
  registry ??= (async () => {
    const { Registry: PrometheusRegistry, collectDefaultMetrics } = await import('prom-client');
    const own = new PrometheusRegistry();
    collectDefaultMetrics({ register: own });
    return own;
  })();
  return (await registry).metrics();
}
