import type { InstanceUsage, RouteTraffic } from '@davit/drivers';
import { assert, integer, array, property } from 'fast-check';
import { expect, test } from 'vitest';
import { latencyOf } from './latency.ts';
import { Measurements, type Reading } from './measured.ts';

const usage = (at: number, cpuMilliseconds: number, more: Partial<InstanceUsage> = {}): InstanceUsage => ({
  id: 'a',
  environment: 'e',
  service: 's',
  rollout: 'r',
  index: 0,
  at,
  cpuMilliseconds,
  memoryBytes: 100,
  receivedBytes: 0,
  sentBytes: 0,
  ...more,
});
const route = (requests: number): RouteTraffic => ({
  id: 'route',
  requests,
  responses: [0, requests, 0, 0, 0],
  receivedBytes: 0,
  sentBytes: 0,
  latency: [requests],
});
const reading = (used: readonly InstanceUsage[], traffic: readonly RouteTraffic[] = []): Reading => ({
  usage: used,
  traffic,
  serviceOf: new Map([['route', 's']]),
  volumes: null,
});

test('processor time of a pass is what was used since the former one, of all instances of a service', () => {
  const measurements = new Measurements();
  const first = measurements.take(reading([usage(0, 500), usage(0, 900, { id: 'b', index: 1 })]));
  expect(first.rows).toMatchObject([{ service_id: 's', instances: 2, measured_seconds: 0, cpu_ms: 0, memory_bytes: 200 }]);
  expect(first.samples[0]).toMatchObject({ cpuMillicores: null, ageSeconds: 0 });
  const second = measurements.take(reading([usage(10_000, 1_500), usage(10_000, 3_900, { id: 'b', index: 1 })]));
  expect(second.rows).toMatchObject([{ instances: 2, measured_seconds: 10, cpu_ms: 4_000 }]);
  expect(second.samples.map(({ cpuMillicores, ageSeconds }) => ({ cpuMillicores, ageSeconds }))).toEqual([
    { cpuMillicores: 100, ageSeconds: 10 },
    { cpuMillicores: 300, ageSeconds: 10 },
  ]);
});

test('an instance that was restarted begins anew, and is young again', () => {
  const measurements = new Measurements();
  measurements.take(reading([usage(0, 5_000, { sentBytes: 70 })]));
  const { rows, samples } = measurements.take(reading([usage(10_000, 200, { sentBytes: 7 })]));
  expect(rows).toMatchObject([{ cpu_ms: 200, sent_bytes: 7 }]);
  expect(samples).toMatchObject([{ ageSeconds: 0, cpuMillicores: 20 }]);
});

test('what a gateway had counted before the first pass is not of this service’s time', () => {
  const measurements = new Measurements();
  expect(measurements.take(reading([], [route(100)])).rows).toEqual([]);
  expect(measurements.take(reading([], [route(103)])).rows).toMatchObject([
    { requests: 3, responses: [0, 3, 0, 0, 0], latency: [3] },
  ]);
  expect(measurements.take(reading([], [route(103)])).rows).toEqual([]);
});

test('volumes of a service count although nothing of it runs', () => {
  const volumes = [{ service: 's', bytes: 5 }];
  expect(new Measurements().take({ ...reading([]), volumes }).rows).toMatchObject([{ instances: 0, volume_bytes: 5 }]);
});

test('percentiles lie in their buckets', () => {
  expect(latencyOf(null)).toBeNull();
  expect(latencyOf([0, 0])).toBeNull();
  expect(latencyOf([100])).toEqual({ p50: 2.5, p90: 4.5, p99: 5 });
  expect(latencyOf([50, 0, 0, 0, 50])).toMatchObject({ p50: 5, p90: 90 });
  expect(latencyOf([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9])).toEqual({ p50: 10_000, p90: 10_000, p99: 10_000 });
  assert(
    property(array(integer({ min: 0, max: 1000 }), { minLength: 12, maxLength: 12 }), (counts) => {
      const latency = latencyOf(counts);
      return latency === null || (0 <= latency.p50 && latency.p50 <= latency.p90 && latency.p90 <= latency.p99);
    }),
  );
});
