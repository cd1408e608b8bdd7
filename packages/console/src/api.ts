import { createClient, type Client } from '@davit/client';
import { currentToken } from './session.ts';

/** Returns a client with the rights of a token. */
export function clientOf(token: string): Client {
  // The browser's function must be called as a method of the window.
  return createClient({ baseUrl: location.origin, token, fetch: (input, init) => fetch(input, init) });
}

/** Returns the client of the current session. */
export function api(): Client {
  return clientOf(currentToken() ?? '');
}
