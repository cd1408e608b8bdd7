/** An order that this process or an earlier one has begun. */
export interface Order {
  readonly url: string;
  /** The private key of the future certificate (PEM). */
  readonly key: string;
}

export interface IssueRequest {
  /** A DNS name, or `*.` followed by one. */
  readonly host: string;
  readonly former: Order | null;
  /** Stores an order that was begun. Null deletes the stored order, because it is no longer of use. */
  readonly keep: (order: Order | null) => Promise<void>;
  /** How a public authority verifies the domain: over HTTP, or through DNS, which wildcards require. */
  readonly challenge: 'http-01' | 'dns-01';
  /**
   * Publishes the answer to a challenge, on all gateways or in DNS. Resolves once the gateway of this machine serves
   * the answer, or DNS has had time to spread it.
   */
  readonly publish: (token: string, answer: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** An issuer of certificates. */
export interface Authority {
  /** URL of the ACME directory. Empty for the installation's own authority. */
  readonly directory: string;
  /**
   * Whether the authority checks the domain from outside. If so, DNS must point to this installation, and wildcards
   * need a challenge through DNS.
   */
  readonly isPublic: boolean;
  /** Returns the private key, the certificate and its chain (PEM, without empty lines). Fails with AuthorityFailure. */
  issue(request: IssueRequest): Promise<string>;
}

/** The reason why there is no certificate, as text for users. */
export class AuthorityFailure extends Error {
  readonly source: 'GATEWAY' | 'AUTHORITY';
  /** Seconds before which another attempt is of no use. Null: the authority did not say. */
  readonly retryAfterSeconds: number | null;

  constructor(
    source: 'GATEWAY' | 'AUTHORITY',
    message: string,
    { cause, retryAfterSeconds = null }: { readonly cause?: unknown; readonly retryAfterSeconds?: number | null } = {},
  ) {
    super(message, { cause });
    this.source = source;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
