import type { Caller } from '../auth/caller.ts';
import type { ClientFacts } from './client-facts.ts';
import type { Outlet } from './outlet.ts';

/** A checked call of any operation, as the HTTP layer creates it, without the types of the operation's declaration. */
export interface AnyCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly caller: Caller;
  readonly client: ClientFacts;
  /** The base path of the vocabulary whose words the client uses; null: the contract's words. */
  readonly basePath: string | null;
  /** Returns a signal that aborts when the client is gone. */
  readonly gone: () => AbortSignal;
}

/** A checked request of a stream. */
export interface StreamCall extends AnyCall {
  /** Id of the last event that the client has received; null at the first request. */
  readonly lastEventId: string | null;
  /**
   * Checks again who the caller is and what it may do. Returns the caller and when the result expires. Throws
   * UNAUTHORIZED, TOKEN_EXPIRED, FORBIDDEN, NOT_FOUND.
   */
  readonly admit: () => Promise<Admitted>;
}

export interface Admitted {
  readonly caller: Caller;
  /** Milliseconds since 1970; infinite if the token does not expire. */
  readonly expiresAt: number;
}

/** A stream that is ready to begin; every check has passed before. */
export interface Stream {
  /** Sends events until there are no more or the client is gone; never rejects. */
  run(outlet: Outlet): Promise<void>;
  readonly patienceMilliseconds: number;
  readonly farewell: string;
}

export type StreamHandler = (call: StreamCall) => Promise<Stream>;
