import { createClient, type Client } from '@davit/client';
import { currentToken } from './session.ts';
import { noteServerTime } from './time.ts';

/** Returns a client with the rights of a token; null: with those of the browser's cookie. */
export function clientOf(token: string | null): Client {
  // The browser's function must be called as a method of the window.
  const send: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    noteServerTime(response.headers.get('date'));
    return response;
  };
  return createClient({ baseUrl: location.origin, ...(token !== null && { token }), fetch: send });
}

/** Returns the client of the current session. */
export function api(): Client {
  return clientOf(currentToken());
}
