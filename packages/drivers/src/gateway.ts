export interface Backend {
  /** Unique in the table and stable: the instance's id. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** What of a route is not as for all routes. What is left out is as for all of them. */
export interface RouteOptions {
  /** Requests that announce a longer body are answered 413. */
  readonly bodyLimitMebibytes?: number;
  readonly connectTimeoutSeconds?: number;
  /** Between two parts of an answer, its first one included. */
  readonly readTimeoutSeconds?: number;
  /** Addresses and networks; all others are answered 403. */
  readonly allowedSources?: readonly string[];
  /** Addresses and networks that are answered 403. */
  readonly deniedSources?: readonly string[];
  /** A client stays at one backend, by a cookie. */
  readonly sticky?: true;
  /** Answers preflight requests, and lets pages of other origins read answers. */
  readonly crossOrigin?: CrossOrigin;
  /** Set on every answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CrossOrigin {
  /** `https://app.example.org`; `*` among them is every origin. */
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
}

export interface HttpRoute {
  /** Stable: the service port's id. */
  readonly id: string;
  /** Lower-case host names, without port. `*.` in front stands for exactly one label; a host that is there by itself comes first. */
  readonly hosts: readonly string[];
  /** `/` is everything; the longest prefix that matches wins. */
  readonly pathPrefix: string;
  /** Replaces the prefix on the way to the backend; null leaves the path as it is. */
  readonly pathRewrite: string | null;
  readonly protocol: 'HTTP' | 'GRPC';
  readonly backends: readonly Backend[];
  readonly options?: RouteOptions;
}

export interface TcpRoute {
  readonly id: string;
  /** Port of the host on which the gateway listens. */
  readonly listenPort: number;
  readonly backends: readonly Backend[];
}

/** What the gateway shows to whoever asks for a host over HTTPS. */
export interface HostCertificate {
  /** As in `HttpRoute.hosts`, each once. */
  readonly host: string;
  /** PEM: the private key, the certificate, and those above it. */
  readonly pem: string;
  /** Requests for this host that come over HTTP are sent to HTTPS (308). */
  readonly redirect: boolean;
}

/** What a certificate authority must find at `http://<host>/.well-known/acme-challenge/<token>` (RFC 8555, 8.3). */
export interface HttpChallenge {
  readonly host: string;
  readonly token: string;
  readonly answer: string;
}

/** Everything that the gateway serves. */
export interface RouteTable {
  readonly http: readonly HttpRoute[];
  readonly tcp: readonly TcpRoute[];
  /** Without a port for HTTPS they are kept and not used. Default: none. */
  readonly certificates?: readonly HostCertificate[];
  /** They go before all routes. Default: none. */
  readonly challenges?: readonly HttpChallenge[];
}

/** Upper ends of the buckets in which the gateway counts how long services took to begin an answer; the last bucket has none. */
export const latencyBucketsMilliseconds = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;

/** What went through a route since the gateway is watched. Numbers only rise. */
export interface RouteTraffic {
  /** The route's. */
  readonly id: string;
  /** Of HTTP and gRPC; connections of TCP. */
  readonly requests: number;
  /** By class, `1xx` first, also those that the gateway gave itself. Of a TCP route all are 0. */
  readonly responses: readonly number[];
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Answers of instances by `latencyBucketsMilliseconds`, each in one bucket; one more bucket than there are ends. */
  readonly latency: readonly number[];
}

/** The front door of the local engine. A process of its own that goes on while Davit is down. */
export interface Gateway {
  /**
   * Fails with GATEWAY_FAILED or PORT_TAKEN, naming the route and the value, when the gateway could never serve this table: a
   * value has a form that it could misread, or two routes claim the same place. Changes nothing.
   */
  check(table: RouteTable): void;

  /** Starts it, or adopts the one that runs from an earlier start. Fails with GATEWAY_FAILED or PORT_TAKEN. */
  start(): Promise<void>;

  /**
   * Makes the gateway serve exactly this. When it resolves, new requests go to the new backends, none is lost, and requests
   * under way at removed backends go on to their end. Calls are serialised; the last one wins.
   */
  apply(table: RouteTable): Promise<void>;

  /** Resolves when no request is under way at these backends any more, or after the time given. */
  awaitDrained(backendIds: readonly string[], timeoutMilliseconds: number): Promise<void>;

  /**
   * What went through each route since the first call, which begins to count; empty while the gateway does not answer. Requests
   * that a worker ended between two calls and a reload are counted, those of a worker that was killed are not.
   */
  traffic(): Promise<readonly RouteTraffic[]>;

  /** Whether its process ran at the last look, a second ago at most; null: nobody has looked yet. Left out: there is no process. */
  readonly isUp?: () => boolean | null;

  /** Ends the gateway process. Only on uninstall and in tests: a stop of Davit leaves it running. */
  stop(): Promise<void>;
}
