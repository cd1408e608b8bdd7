import type { ConditionSeverity } from './views.ts';

/** The resource use of a service during one time step. */
export interface MetricsStep {
  /** Start of the step, ISO 8601. */
  readonly at: string;
  /** Number of instances, averaged over the measurements, and the maximum. */
  readonly instances: number;
  readonly maxInstances: number;
  /** CPU use of all instances together, on average, in millicores; null: not measured. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number;
  readonly maxMemoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Bytes in the volumes at the end of the step; null: there are no volumes, or they cannot be read. */
  readonly volumeBytes: number | null;
  /** Number of HTTP and gRPC requests through the gateway, plus TCP connections. */
  readonly requests: number;
  /** Number of responses by status class, `1xx` first. */
  readonly responses: readonly number[];
  /** Number of responses for each of the `latencyBuckets`. */
  readonly latencyCounts: readonly number[];
  /** Percentiles in milliseconds; null: no response came from an instance. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number } | null;
}

/** An automatic change of the number of instances. */
export interface ScalingView {
  readonly at: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** Counters of a service since its first measurement. */
export interface MetricsTotal {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly serviceId: string;
  /** null: not measured recently. */
  readonly now: { readonly instances: number; readonly memoryBytes: number; readonly volumeBytes: number | null } | null;
  readonly cpuMilliseconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly requests: number;
  readonly responses: readonly number[];
  readonly latencyCounts: readonly number[];
  /** Number of unrequested exits of instances, by the code of the cause. */
  readonly ends: Readonly<Record<string, number>>;
  /** Open conditions, one of each kind at most. `code`: see docs/errors.md. */
  readonly conditions: readonly { readonly kind: string; readonly code: string; readonly severity: ConditionSeverity }[];
}
