/** A request as it is sent. `#` in path or body is replaced by a number that is used once, of eight digits. */
export interface PlannedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What the load generator is to do. */
export interface LoadPlan {
  readonly port: number;
  /** Each sends its next request when it has the answer to the one before. */
  readonly connections: number;
  /** Sent and not counted. */
  readonly warmUpMilliseconds: number;
  /** null: until told to stop. */
  readonly milliseconds: number | null;
  /** Sent in turns. */
  readonly requests: readonly PlannedRequest[];
  /** The only status that is no failure. */
  readonly status: number;
  /** Where the numbers for `#` begin. */
  readonly firstNumber?: number;
  /** Time between an answer and the next request of the same connection. */
  readonly pauseMilliseconds?: number;
  /** Every second connection is closed and opened again after so many requests. */
  readonly reconnectEvery?: number;
  /** Different answers are reported, up to a hundred. */
  readonly keepsBodies?: boolean;
  /** The process whose processor time is reported. */
  readonly serverPid?: number;
}

export interface LoadResult {
  readonly requests: number;
  /** By reason: an unexpected status, or a connection that ended in the middle. */
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly perSecond: number;
  /** Milliseconds from the request to the end of its answer. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number; readonly most: number };
  /** Microseconds of processor time a request cost, here and at the server (all of its threads). */
  readonly processorMicroseconds: { readonly client: number; readonly server: number | null };
  readonly bodies: readonly string[];
}
