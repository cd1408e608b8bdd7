import type { Registry } from 'prom-client';

/** Counts of handles and requests that are called like counters and are gauges, which `promtool check metrics` refuses; each stands by kind as well. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registry: Promise<Registry> | undefined;

/** The process' own metrics. Loaded at the first scrape: who does not scrape does not pay for them. */
export async function processMetrics(): Promise<string> {
  registry ??= (async () => {
    const { Registry: PrometheusRegistry, collectDefaultMetrics } = await import('prom-client');
    const own = new PrometheusRegistry();
    collectDefaultMetrics({ register: own });
    for (const name of misnamed) own.removeSingleMetric(name);
    return own;
  })();
  return (await registry).metrics();
}
