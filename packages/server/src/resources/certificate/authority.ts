/** An order that was begun, by this process or one before it. */
export interface Order {
  readonly url: string;
  /** The private key that the certificate will be for, in PEM. */
  readonly key: string;
}

export interface IssueRequest {
  /** A name as DNS has it, or `*.` and one. */
  readonly host: string;
  readonly former: Order | null;
  /** Called when an order was begun, and with null when it is no longer of use. */
  readonly keep: (order: Order | null) => Promise<void>;
  /** Makes all gateways answer a challenge; resolves once this machine's does. */
  readonly publish: (token: string, answer: string) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Who makes certificates. */
export interface Authority {
  /** Address of its ACME directory; empty: the installation's own. */
  readonly directory: string;
  /** Whether DNS must lead here, and wildcards are beyond it: it looks at the domain from outside. */
  readonly isPublic: boolean;
  /** Private key, certificate and those above it in PEM, without empty lines. Fails with AuthorityFailure. */
  issue(request: IssueRequest): Promise<string>;
}

/** Why there is no certificate, in words for people. */
export class AuthorityFailure extends Error {
  readonly source: 'GATEWAY' | 'AUTHORITY';
  /** Not before this many seconds is another attempt of use; null: the authority did not say. */
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
