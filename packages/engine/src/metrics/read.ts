import type { Queryable } from '@davit/db';
import { latencyBucketsMilliseconds } from '@davit/drivers';
import type { EnginePort, MetricsStep, MetricsTotal } from '../port.ts';
import * as store from '../store/metrics.ts';
import { readScalings } from '../store/scaling.ts';
import { latencyOf } from './latency.ts';

export const latencyBuckets: readonly number[] = latencyBucketsMilliseconds;

const noResponses: readonly number[] = [0, 0, 0, 0, 0];
const noLatency: readonly number[] = [...latencyBuckets, Infinity].map(() => 0);

export async function readMetrics(db: Queryable, serviceId: string, minutes: number): ReturnType<EnginePort['metrics']> {
  const stepSeconds = minutes <= store.minutesKeptFor ? 60 : minutes <= store.fiveMinutesKeptFor ? 300 : 3600;
  const rows = await db.many(store.readMetrics, [serviceId, minutes, stepSeconds]);
  const scalings = (await db.many(readScalings, [serviceId, minutes])).map((row) => ({
    at: row.at,
    from: row.from_instances,
    to: row.to_instances,
    reason: row.reason,
  }));
  return { stepSeconds, steps: rows.map(toStep), scalings };
}

function toStep(row: store.MetricRow): MetricsStep {
  const instances = row.instances_sum / row.samples;
  return {
    at: row.at,
    instances,
    maxInstances: row.instances_max,
    cpuMillicores: row.measured_seconds > 0 ? row.cpu_ms / row.measured_seconds : null,
    memoryBytes: row.memory_sum / row.samples,
    maxMemoryBytes: row.memory_max,
    receivedBytes: row.received_bytes,
    sentBytes: row.sent_bytes,
    volumeBytes: row.volume_bytes,
    requests: row.requests,
    responses: row.responses ?? noResponses,
    latencyCounts: row.latency ?? noLatency,
    latency: latencyOf(row.latency),
  };
}

export async function readMetricTotals(db: Queryable): Promise<MetricsTotal[]> {
  return (await db.many(store.readTotals)).map((row) => ({
    organizationId: row.organization_id,
    projectId: row.project_id,
    environmentId: row.environment_id,
    serviceId: row.service_id,
    now: row.is_fresh ? { instances: row.instances, memoryBytes: row.memory_bytes, volumeBytes: row.volume_bytes } : null,
    cpuMilliseconds: row.cpu_ms,
    receivedBytes: row.received_bytes,
    sentBytes: row.sent_bytes,
    requests: row.requests,
    responses: row.responses ?? noResponses,
    latencyCounts: row.latency ?? noLatency,
    ends: row.ends ?? {},
    conditions: row.conditions ?? [],
  }));
}
