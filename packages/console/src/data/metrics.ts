import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import type { Metrics } from '../pages/metrics/series.ts';
import { serverNow } from '../time.ts';
import type { Service, ServiceType } from '../words.ts';

type Read = (id: string, minutes: number, signal: AbortSignal) => Promise<Metrics>;

const reads: Partial<Record<ServiceType, Read>> = {
  APPLICATION: (applicationId, minutes, signal) =>
    api().call('getApplicationMetrics', { params: { applicationId }, query: { minutes }, signal }),
  CONTAINER: (containerId, minutes, signal) =>
    api().call('getContainerMetrics', { params: { containerId }, query: { minutes }, signal }),
  DATABASE: (databaseId, minutes, signal) =>
    api().call('getDatabaseMetrics', { params: { databaseId }, query: { minutes }, signal }),
  JOB: (jobId, minutes, signal) => api().call('getJobMetrics', { params: { jobId }, query: { minutes }, signal }),
};

export function hasMetrics({ service_type: type }: Service): boolean {
  return reads[type] !== undefined;
}

/** Milliseconds between two measurements that are stored. */
const stepMilliseconds = 60_000;

/** The resources that a service used in the last minutes, and when that was read. */
export const metricsOf = ({ id, service_type: type, environment }: Service, minutes: number) =>
  queryOptions({
    queryKey: ['metrics', environment.id, id, minutes],
    queryFn: async ({ signal }) => {
      const to = serverNow();
      const metrics = (await reads[type]?.(id, minutes, signal)) ?? {
        service_id: id,
        step_seconds: 60,
        results: [],
        scaling: [],
      };
      return { metrics, to };
    },
    // A step is stored each minute, and the stream has no event for it. The page reads it while somebody looks at it.
    refetchInterval: stepMilliseconds,
  });
