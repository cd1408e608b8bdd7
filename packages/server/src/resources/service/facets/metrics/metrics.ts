import type { operations, Response } from '@davit/contract';
import type { MetricsStep } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import type { Needs } from '../../../../deps.ts';
import type { ServiceReference } from '../../lock.ts';
import { assertVisible } from '../history/history.ts';

export type MetricsRecord = Response<(typeof operations)['getApplicationMetrics']>;

const defaultMinutes = 60;

/** Returns the recent resource usage of the service, oldest first. */
export async function readMetrics(
  deps: Needs<'database' | 'engine'>,
  caller: Caller,
  { id, type }: ServiceReference,
  minutes: number = defaultMinutes,
): Promise<MetricsRecord> {
  await assertVisible(deps, caller, id, type);
  const { stepSeconds, steps, scalings } = await deps.engine.metrics(deps.database, id, minutes);
  return {
    service_id: id,
    step_seconds: stepSeconds,
    results: steps.map((step) => toRecord(step, deps.engine.latencyBuckets)),
    scaling: [...scalings],
  };
}

function toRecord(step: MetricsStep, ends: readonly number[]): MetricsRecord['results'][number] {
  const [informational = 0, success = 0, redirection = 0, clientError = 0, serverError = 0] = step.responses;
  return {
    at: step.at,
    instances: rounded(step.instances),
    maximum_instances: step.maxInstances,
    cpu: step.cpuMillicores === null ? null : rounded(step.cpuMillicores),
    memory: toMiB(step.memoryBytes),
    maximum_memory: toMiB(step.maxMemoryBytes),
    network_received_bytes: step.receivedBytes,
    network_sent_bytes: step.sentBytes,
    volumes: step.volumeBytes === null ? null : toMiB(step.volumeBytes),
    requests: step.requests,
    responses: { '1xx': informational, '2xx': success, '3xx': redirection, '4xx': clientError, '5xx': serverError },
    latency_ms: step.latency,
    latency_buckets: step.latencyCounts.map((count, index) => ({ up_to_ms: ends[index] ?? null, count })),
  };
}

function toMiB(bytes: number): number {
  return rounded(bytes / 1024 / 1024);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
