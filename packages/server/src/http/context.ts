import type { Database } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import type { FastifyBaseLogger } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import type { Authenticator } from '../auth/authenticator.ts';
import type { PlatformMetrics } from '../metrics/platform.ts';
import type { RequestDurations } from '../metrics/requests.ts';
import type { GitRemote } from '../git-remote/git-remote.ts';
import type { Vault } from '../secrets/vault.ts';
import type { IdempotencyKeys } from './idempotency.ts';
import type { MountedOperation } from './mount.ts';
import type { RateLimiter } from './rate-limit.ts';
import type { Vocabulary } from '../vocabulary/vocabulary.ts';
import type { Writing } from './writing.ts';

/** The operations and everything else that the HTTP layer needs. */
export interface ServerOptions {
  readonly mounted: readonly MountedOperation[];
  readonly database: Database;
  readonly connectionString: string;
  readonly engine: EnginePort;
  readonly vault: Vault;
  readonly authenticator: Authenticator;
  readonly gitInbox: GitInbox;
  readonly gitRemote: GitRemote;
  readonly limiter: RateLimiter;
  readonly metrics: PlatformMetrics;
  readonly bodyLimitBytes: number;
  /** Proxies whose `X-Forwarded-For` is believed: all, none, or networks. */
  readonly trustProxy: boolean | string[];
  /** Public URL of this API without a trailing slash; null: unknown. */
  readonly publicUrl: string | null;
  /** Origins whose pages may use the API from a browser. Empty: only pages of this server's own origin may. */
  readonly allowedOrigins?: readonly string[];
  /** Words of clients that are served under an own base path. Left out: none. */
  readonly vocabulary?: Vocabulary;
  readonly logRequests: boolean;
  readonly version: string;
  /** Returns whether requests should go to other processes, because this one stops soon. */
  readonly isLeaving?: () => boolean;
  /** Returns whether the main task of this process is not running yet. Default: the process is ready at once. */
  readonly isStarting?: () => boolean;
  /** Milliseconds of event-loop delay above which requests are refused. Default: 1,500; 0: never. */
  readonly overloadedAfterMilliseconds?: number;
  readonly logger?: FastifyBaseLogger;
  /** Returns whether this process can write its state and its log. Left out: not checked. */
  readonly writing?: () => Promise<Writing>;
}

/** Dependencies shared by the parts of the HTTP layer. */
export interface HttpContext {
  readonly options: ServerOptions;
  readonly limiter: RateLimiter;
  readonly durations: RequestDurations;
  readonly idempotency: IdempotencyKeys;
}

/** Receives the webhook requests of git hosts. */
export interface GitInbox {
  /** Returns whether a webhook has this id. It is called before the body is read. */
  knows(webhookId: string): Promise<boolean>;
  /**
   * Records a delivery; idempotent. Returns the response to the git host: 202, or why nothing was accepted. Returns
   * null if the webhook does not exist.
   */
  receive(
    webhookId: string,
    delivery: { readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  ): Promise<{ readonly status: 202 | 400 | 401; readonly message: string } | null>;
}
