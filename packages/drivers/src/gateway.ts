export interface Backend {
  /** The id of the instance. Stable, and unique in the table. */
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

/** Options of one route. An absent option has the gateway's default. */
export interface RouteOptions {
  /** Requests that announce a longer body get status 413. */
  readonly bodyLimitMebibytes?: number;
  readonly connectTimeoutSeconds?: number;
  /** Longest time between two parts of a response, also before its first part. */
  readonly readTimeoutSeconds?: number;
  /** Addresses and networks that may send requests; all others get status 403. */
  readonly allowedSources?: readonly string[];
  /** Addresses and networks that get status 403. */
  readonly deniedSources?: readonly string[];
  /** Each client stays at one backend, by means of a cookie. */
  readonly sticky?: true;
  /** Answers CORS preflight requests, and allows pages of other origins to read responses. */
  readonly crossOrigin?: CrossOrigin;
  /** Headers that are set on every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CrossOrigin {
  /** Origins such as `https://app.example.org`; an entry `*` allows every origin. */
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
}

export interface HttpRoute {
  /** The id of the service port. Stable. */
  readonly id: string;
  /**
   * Lower-case host names, without port. A leading `*.` stands for exactly one label; an exact host name takes
   * precedence.
   */
  readonly hosts: readonly string[];
  /** `/` matches every path; the longest matching prefix wins. */
  readonly pathPrefix: string;
  /** Replaces the prefix in the request to the backend; null leaves the path unchanged. */
  readonly pathRewrite: string | null;
  readonly protocol: 'HTTP' | 'GRPC';
  readonly backends: readonly Backend[];
  readonly options?: RouteOptions;
}

export interface TcpRoute {
  readonly id: string;
  /** Port of the host that the gateway listens on. */
  readonly listenPort: number;
  /**
   * Clients may begin with TLS, or ask for it as those of PostgreSQL do. The gateway then terminates TLS with the
   * certificate of the requested host. Only for protocols in which the client speaks first: the gateway waits for its
   * first bytes. Without an HTTPS port, clients cannot. Default: the gateway passes everything on.
   */
  readonly acceptsTls?: true;
  readonly backends: readonly Backend[];
}

/** The certificate that the gateway presents for a host over HTTPS. */
export interface HostCertificate {
  /** A host name as in `HttpRoute.hosts`. Each host occurs once. */
  readonly host: string;
  /** PEM: the private key, the certificate, and its chain. */
  readonly pem: string;
  /** Redirects HTTP requests for this host to HTTPS (308). */
  readonly redirect: boolean;
}

/**
 * The response that a certificate authority must get from `http://<host>/.well-known/acme-challenge/<token>` (RFC 8555,
 * 8.3).
 */
export interface HttpChallenge {
  readonly host: string;
  readonly token: string;
  readonly answer: string;
}

/** Everything that the gateway serves. */
export interface RouteTable {
  readonly http: readonly HttpRoute[];
  readonly tcp: readonly TcpRoute[];
  /** Without an HTTPS port the gateway keeps the certificates but does not use them. Default: none. */
  readonly certificates?: readonly HostCertificate[];
  /**
   * Further hosts of routes whose HTTP requests are redirected to HTTPS, because the certificate of a wildcard above
   * them is presented. Default: none.
   */
  readonly redirects?: readonly string[];
  /** Challenges take precedence over all routes. Default: none. */
  readonly challenges?: readonly HttpChallenge[];
}

/**
 * Upper bounds of the buckets in which the gateway counts how long services took to begin a response. The last bucket
 * has no upper bound.
 */
export const latencyBucketsMilliseconds = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000] as const;

/** Traffic of a route since the gateway began counting. The numbers never decrease. */
export interface RouteTraffic {
  /** The id of the route. */
  readonly id: string;
  /** Number of HTTP and gRPC requests; for a TCP route, of connections. */
  readonly requests: number;
  /**
   * Number of responses by status class, `1xx` first, including responses of the gateway itself. All are 0 for a TCP
   * route.
   */
  readonly responses: readonly number[];
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /**
   * Number of responses of instances in each bucket of `latencyBucketsMilliseconds`; a response is in one bucket only.
   * There is one bucket more than there are bounds.
   */
  readonly latency: readonly number[];
}

/** The gateway of the local engine. It is a separate process that keeps running while Davit is down. */
export interface Gateway {
  /**
   * Fails with GATEWAY_FAILED or PORT_TAKEN if the gateway could never serve this table; the error names the route and
   * the value. Causes: the gateway could misparse a value, or two routes claim the same place. Changes nothing.
   */
  check(table: RouteTable): void;

  /** Starts the gateway, or adopts the gateway process of an earlier start. Fails with GATEWAY_FAILED or PORT_TAKEN. */
  start(): Promise<void>;

  /**
   * Makes the gateway serve exactly this table. After it resolves, new requests go to the new backends. No request is
   * lost, and requests under way at removed backends run to their end. Calls are serialized; the last one wins.
   */
  apply(table: RouteTable): Promise<void>;

  /**
   * Serves these certificates and challenges in addition to what is served, and leaves all routes as they are. For the
   * time before the routes are known. Absent if the gateway has no routes of Davit's own.
   */
  applyDomains?(domains: Pick<RouteTable, 'certificates' | 'challenges'>): Promise<void>;

  /** Resolves once no request is under way at these backends, or after the timeout. */
  awaitDrained(backendIds: readonly string[], timeoutMilliseconds: number): Promise<void>;

  /**
   * Returns the traffic of each route since the first call, which starts the counting; empty while the gateway is
   * unreachable. Requests that a worker ended between two calls and a reload are counted. Requests of a worker that was
   * killed are not.
   */
  traffic(): Promise<readonly RouteTraffic[]>;

  /**
   * Returns whether the gateway process was running at the last check, at most a second ago; null before the first
   * check. Absent if there is no process.
   */
  readonly isUp?: () => boolean | null;

  /** Ends the gateway process. Only for uninstall and tests: when Davit stops, the gateway keeps running. */
  stop(): Promise<void>;
}
