import type { Body, Operation, PathParameters, Query, Response } from '@davit/contract';
import type { Caller } from '../auth/caller.ts';
import type { AnyCall, StreamHandler } from './call.ts';
import type { ClientFacts } from './client-facts.ts';

/** One checked request of an operation: token, scope, ids, query and body are valid when the handler receives it. */
export interface Call<O extends Operation> {
  readonly params: PathParameters<O>;
  readonly query: Query<O>;
  readonly body: Body<O>;
  readonly caller: Caller;
  readonly client: ClientFacts;
  readonly basePath: AnyCall['basePath'];
  readonly gone: AnyCall['gone'];
}

/** A response with another status than the operation's default, and with no body. */
export class OtherStatus {
  readonly status: number;

  constructor(status: number) {
    this.status = status;
  }
}

/** A response that also sets a cookie. */
export class WithCookie<Body> {
  readonly body: Body;
  /** Value of the header `Set-Cookie`. */
  readonly cookie: string;

  constructor(body: Body, cookie: string) {
    this.body = body;
    this.cookie = cookie;
  }
}

type Answer<O extends Operation> = Response<O> extends undefined ? void : Response<O>;
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O> | OtherStatus | WithCookie<Answer<O>>>;

export interface MountedOperation {
  readonly operation: Operation;
  readonly handler: (call: AnyCall) => Promise<unknown>;
  /** Replaces the handler if the response is a stream. */
  readonly open?: StreamHandler;
}

/**
 * Collects the operations of the resources and their handlers. `http/server.ts` turns them into routes; an operation
 * without a handler makes the start fail.
 */
export class Mounting {
  readonly mounted: MountedOperation[] = [];

  /**
   * Adds an operation that several kinds of resources share. The handler gets the type that their declarations have in
   * common.
   */
  onAny(operation: Operation, handler: (call: AnyCall) => Promise<unknown>): this {
    this.mounted.push({ operation, handler });
    return this;
  }

  /** Adds an operation whose response is a stream of events. */
  onStream(operation: Operation & { readonly events: object }, open: StreamHandler): this {
    const handler = (): Promise<never> => Promise.reject(new Error(`${operation.id} is a stream`));
    this.mounted.push({ operation, handler, open });
    return this;
  }

  on<O extends Operation>(operation: O, handler: Handler<O>): this {
    // The HTTP layer has checked that the call matches the declaration; TypeScript cannot follow that check.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.mounted.push({ operation, handler: handler as (call: AnyCall) => Promise<unknown> });
    return this;
  }
}
