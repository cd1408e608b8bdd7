import type { Registry } from 'prom-client';

/**
 * Gauges with names of counters, which `promtool check metrics` rejects. Each value is also exported by kind under
 * another name.
 */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registry: Promise<Registry> | undefined;

/**
 * Returns the metrics of the Node.js process. The library is loaded at the first scrape, so it costs nothing without
 * scrapes.
 */
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
