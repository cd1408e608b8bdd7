import type { ErrorBody } from '@davit/contract';
import type { HttpResponse } from './transport.ts';

type Fields = readonly { readonly path: string; readonly message: string }[];

/**
 * An unsuccessful response. `code` is from the contract's catalogue, or `UNKNOWN` if an intermediary such as a proxy
 * responded.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: Fields;
  readonly requestId: string | null;
  /** Seconds until a retry makes sense, if the response states them. */
  readonly retryAfterSeconds: number | null;

  constructor(body: Partial<ErrorBody> & { readonly status: number }, retryAfterSeconds: number | null = null) {
    super(body.message ?? `the server answered ${body.status}`);
    this.name = 'ApiError';
    this.status = body.status;
    this.code = body.code ?? 'UNKNOWN';
    this.errors = body.errors ?? [];
    this.requestId = body.request_id ?? null;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Creates the error from the parts of a response. The text need not be an error of this API. */
  static of(status: number, text: string, headers: HttpResponse['headers']): ApiError {
    const after = Number(headers.get('retry-after') ?? Number.NaN);
    return new ApiError({ ...bodyOf(text), status }, Number.isFinite(after) ? after : null);
  }
}

function bodyOf(text: string): Partial<ErrorBody> {
  try {
    const value: Partial<ErrorBody> | null = JSON.parse(text);
    return typeof value?.code === 'string' ? value : {};
  } catch {
    // The body is a proxy's page.
    return {};
  }
}
