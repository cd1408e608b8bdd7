/*
 * Who is signed in. Everything else asks this module, so that another kind of session replaces one file. For now the
 * session is an API token, which the browser keeps for one tab and forgets when the tab is closed.
 */

const key = 'davit.token';
const endedKey = 'davit.ended';
const listeners = new Set<() => void>();

/** Returns the token of the session; null if nobody is signed in. */
export function currentToken(): string | null {
  return sessionStorage.getItem(key);
}

/** Returns whether the server ended the last session of this tab. */
export function wasEnded(): boolean {
  return sessionStorage.getItem(endedKey) !== null;
}

/** Begins a session. The caller has checked that the server accepts the token. */
export function signIn(token: string): void {
  sessionStorage.setItem(key, token);
  sessionStorage.removeItem(endedKey);
  for (const listener of listeners) listener();
}

/** Ends the session. `byServer`: the server no longer accepts it. */
export function signOut(byServer = false): void {
  sessionStorage.removeItem(key);
  if (byServer) sessionStorage.setItem(endedKey, 'true');
  for (const listener of listeners) listener();
}

/** Calls the listener after each sign-in and sign-out. Returns a function that ends this. */
export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Returns a name that tabs of the same session share, and that does not reveal the token. Tabs with other rights must
 * not receive the events of this session.
 */
export function sessionName(): string {
  let hash = 0x811c9dc5;
  for (const character of currentToken() ?? '') hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}
