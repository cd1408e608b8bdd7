/** A request, as far as the client needs it. */
export interface HttpRequest {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** A response, as far as the client needs it. The `Response` of `fetch` has all of this. */
export interface HttpResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
  text(): Promise<string>;
}

/** Sends a request. `fetch` is such a function. */
export type Send = (url: string, request: HttpRequest) => Promise<HttpResponse>;
