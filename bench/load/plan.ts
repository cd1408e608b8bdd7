/** A request of the load. Each `#` in path or body is replaced by a unique number of eight digits. */
export interface PlannedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The instructions for the load generator. */
export interface LoadPlan {
  readonly port: number;
  /** Number of connections. Each connection sends its next request after the response to its previous request. */
  readonly connections: number;
  /** Duration of the warm-up. Its requests are sent but not counted. */
  readonly warmUpMilliseconds: number;
  /** Duration of the measurement. null: the load runs until `stop`. */
  readonly milliseconds: number | null;
  /** The requests, sent in rotation. */
  readonly requests: readonly PlannedRequest[];
  /** The expected status. Every other status is a failure. */
  readonly status: number;
  /** The first number for `#`. */
  readonly firstNumber?: number;
  /** Pause between a response and the next request of the same connection. */
  readonly pauseMilliseconds?: number;
  /** Number of requests after which every second connection is closed and reopened. */
  readonly reconnectEvery?: number;
  /** Whether distinct response bodies are reported, up to a hundred. */
  readonly keepsBodies?: boolean;
  /** The process whose CPU time is reported. */
  readonly serverPid?: number;
}

export interface LoadResult {
  readonly requests: number;
  /** Number of failures by reason: an unexpected status, or a connection that ended during a response. */
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly perSecond: number;
  /** Milliseconds from a request to the end of its response. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number; readonly most: number };
  /** Microseconds of CPU time per request, in the load generator and in the server (all of its threads). */
  readonly processorMicroseconds: { readonly client: number; readonly server: number | null };
  readonly bodies: readonly string[];
}
