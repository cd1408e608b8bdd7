import { expect, test } from 'vitest';
import { charts, isMeasured, scaled, seriesOf, summaryOf, type Metrics } from './series.ts';

const step = (minute: number, cpu: number | null): Metrics['results'][number] => ({
  at: new Date(minute * 60_000).toISOString(),
  instances: 1,
  maximum_instances: 1,
  cpu,
  memory: 1,
  maximum_memory: 1,
  network_received_bytes: 600,
  network_sent_bytes: 0,
  volumes: null,
  requests: 120,
  responses: { '1xx': 0, '2xx': 120, '3xx': 0, '4xx': 0, '5xx': 0 },
  latency_ms: null,
  latency_buckets: [],
});
const metrics: Metrics = { service_id: '', step_seconds: 60, results: [step(1, 100), step(3, 300)], scaling: [] };
const chart = (title: string) => {
  const found = charts.find((one) => one.title === title);
  if (found === undefined) throw new Error(title);
  return found;
};

test('steps that were not measured are gaps, and rates are for a second', () => {
  const cpu = seriesOf(chart('Processor'), metrics, 0, 240_000);
  expect(cpu.times).toEqual([0, 60, 120, 180, 240]);
  expect(cpu.values).toEqual([[null, 100, null, 300, null]]);
  expect(seriesOf(chart('Requests'), metrics, 60_000, 60_000).values).toEqual([[2]]);
  expect(isMeasured(seriesOf(chart('Volumes'), metrics, 0, 240_000))).toBe(false);
  const words = summaryOf(cpu, chart('Processor').format, (at) => `second ${at}`);
  expect(words).toBe('300 m at second 180; average 200 m, highest 300 m at second 180');
  expect(scaled(1536, ['MiB', 'GiB'])).toBe('1.5 GiB');
});
