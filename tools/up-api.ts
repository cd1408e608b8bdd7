/** A failed response of the API, with the API's own message. */
export class ApiFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A client of the API that is signed in. */
export interface Api {
  get<Answer>(path: string): Promise<Answer>;
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  put<Answer>(path: string, body?: unknown): Promise<Answer>;
}

interface ErrorBody {
  readonly message?: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

/**
 * Returns a client of the API at this address with this token. Each method throws `ApiFailure` if the response is not a
 * success.
 */
export function createApi(address: string, token: string): Api {
  const call = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(address + path, {
      method,
      headers: { authorization: `Token ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new ApiFailure(response.status, explain(`${method} ${path}`, response.status, text));
    const answer: Answer = text === '' ? undefined : JSON.parse(text);
    return answer;
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
  };
}

function explain(request: string, status: number, text: string): string {
  try {
    const { message, errors }: ErrorBody = JSON.parse(text);
    const details = (errors ?? []).map((error) => `\n  ${error.path}: ${error.message}`);
    return `${request} answers ${status}: ${message ?? text}${details.join('')}`;
  } catch {
    return `${request} answers ${status}: ${text}`;
  }
}
