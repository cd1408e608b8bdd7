import type { TestServer } from '@davit/testkit/server';

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly cookie: string | null;
  readonly headers: Headers;
}

/** Sends requests as a page of this server does: with its cookies and its origin. */
export class TestBrowser {
  readonly #server: Pick<TestServer, 'baseUrl'>;
  /** The cookie of the session, as `name=value`. */
  cookie: string | null = null;
  /** The cookie of a sign-in that began. */
  stateCookie: string | null = null;

  constructor(server: Pick<TestServer, 'baseUrl'>, cookie: string | null = null) {
    this.#server = server;
    this.cookie = cookie;
  }

  /** Sends `call`, such as `POST /signIn`. A header of null is left out. */
  async send(call: string, body?: unknown, headers: Readonly<Record<string, string | null>> = {}): Promise<Answer> {
    const { baseUrl } = this.#server;
    const [method = '', path = ''] = call.split(' ');
    const all: Record<string, string | null> = {
      origin: method === 'GET' ? null : baseUrl,
      cookie: [this.cookie, this.stateCookie].filter((one) => one !== null).join('; ') || null,
      'content-type': body === undefined ? null : 'application/json',
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: sent,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const set = response.headers.get('set-cookie');
    const cookie = set?.split(';')[0] ?? null;
    if (cookie?.includes('davit-sign-in=') === true) this.stateCookie = cookie;
    else if (cookie !== null) this.cookie = cookie;
    return { status: response.status, body: text === '' ? {} : JSON.parse(text), cookie: set, headers: response.headers };
  }
}
