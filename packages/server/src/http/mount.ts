import type { Body, Operation, PathParameters, Query, Response } from '@davit/contract';
import type { Caller } from '../auth/caller.ts';
import type { StreamHandler } from './stream-route.ts';

/** One request of an operation, checked: token, scope, ids, query and body are valid when a handler sees it. */
export interface Call<O extends Operation> {
  readonly params: PathParameters<O>;
  readonly query: Query<O>;
  readonly body: Body<O>;
  readonly caller: Caller;
}

/** Answers another status than the operation's first one, with no body. */
export class OtherStatus {
  readonly status: number;

  constructor(status: number) {
    this.status = status;
  }
}

type Answer<O extends Operation> = Response<O> extends undefined ? void : Response<O>;
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Answer<O> | OtherStatus>;

/** A call of any operation, as the HTTP layer makes it: checked, but without the types that the declaration gives it. */
export interface AnyCall {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly caller: Caller;
}

export interface MountedOperation {
  readonly operation: Operation;
  readonly handler: (call: AnyCall) => Promise<unknown>;
  /** In place of the handler, where the answer is a stream. */
  readonly open?: StreamHandler;
}

/** Collects what a resource serves. `http/server.ts` turns it into routes; an operation that nobody mounts fails the start. */
export class Mounting {
  readonly mounted: MountedOperation[] = [];

  /** The same for operations that several kinds share: the handler takes what all of their declarations have in common. */
  onAny(operation: Operation, handler: (call: AnyCall) => Promise<unknown>): this {
    this.mounted.push({ operation, handler });
    return this;
  }

  /** An operation whose answer is a stream of events. */
  onStream(operation: Operation & { readonly events: object }, open: StreamHandler): this {
    const handler = (): Promise<never> => Promise.reject(new Error(`${operation.id} is a stream`));
    this.mounted.push({ operation, handler, open });
    return this;
  }

  on<O extends Operation>(operation: O, handler: Handler<O>): this {
    // The HTTP layer has checked that the call is what the declaration says; types cannot follow it there.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    this.mounted.push({ operation, handler: handler as (call: AnyCall) => Promise<unknown> });
    return this;
  }
}
