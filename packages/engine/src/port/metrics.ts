/** What a service used in a step of time. */
export interface MetricsStep {
  /** Its beginning, ISO 8601. */
  readonly at: string;
  /** On average of the passes, and the most. */
  readonly instances: number;
  readonly mostInstances: number;
  /** Of all instances together, on average; null: not measured. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number;
  readonly mostMemoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** What its volumes held at the end; null: it has none, or they cannot be looked into. */
  readonly volumeBytes: number | null;
  /** Of HTTP and gRPC through the gateway, and connections of TCP. */
  readonly requests: number;
  /** By class, `1xx` first. */
  readonly responses: readonly number[];
  /** By `latencyBuckets`. */
  readonly latencyCounts: readonly number[];
  /** Percentiles in milliseconds; null: no answer came from an instance. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number } | null;
}

/** A change of the number of instances that Davit made by itself. */
export interface ScalingView {
  readonly at: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** Counters of a service since it was first measured. */
export interface MetricsTotal {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly serviceId: string;
  /** null: it was not measured lately. */
  readonly now: { readonly instances: number; readonly memoryBytes: number; readonly volumeBytes: number | null } | null;
  readonly cpuMilliseconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly requests: number;
  readonly responses: readonly number[];
  readonly latencyCounts: readonly number[];
  /** Ends of instances that nobody asked for, by the code of their cause. */
  readonly ends: Readonly<Record<string, number>>;
}
