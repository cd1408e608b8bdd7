import recorded from '../generated/examples.json' with { type: 'json' };

/** A request and its answer, as a real server gave it; ids, times, hosts and secrets are replaced by stable ones. */
export interface Example {
  /** The path with the ids filled in, without the query. */
  readonly path: string;
  /** The parameters of the query as texts, by name. */
  readonly query?: Readonly<Record<string, string>>;
  /** Headers that the request needs in addition to its token and its content type. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of the request: a JSON value, or a text if the operation takes text. */
  readonly request?: unknown;
  readonly status: number;
  /** The body of the answer: a JSON value, or a text if the operation answers with text or with a stream. */
  readonly answer?: unknown;
}

/** The examples by the ids of their operations. */
export const examples: Readonly<Record<string, Example>> = recorded;

/**
 * Returns the example of an operation, or undefined if there is none. All examples are from one small shop, so that an
 * id means the same thing in each of them. Lists are cut to three entries. The status is that of a refusal if the
 * operation refuses everything at present.
 */
export function exampleOf(operationId: string): Example | undefined {
  return Object.hasOwn(examples, operationId) ? examples[operationId] : undefined;
}
