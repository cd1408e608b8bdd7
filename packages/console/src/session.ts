/*
 * Who is signed in. A person has a session in a cookie, which scripts cannot read and all tabs share: the browser only
 * keeps its id here. Who signs in with an API token has it in one tab, which forgets it when it is closed.
 */

const tokenKey = 'davit.token';
const idKey = 'davit.session';
const endedKey = 'davit.ended';
const listeners = new Set<() => void>();
window.addEventListener('storage', notifyListeners);

/** Returns a text that identifies the session; null if nobody is signed in. */
export function currentSession(): string | null {
  return currentToken() ?? localStorage.getItem(idKey);
}

/** Returns the API token of this tab; null if requests use the cookie, or nobody is signed in. */
export function currentToken(): string | null {
  return sessionStorage.getItem(tokenKey);
}

/** Returns whether the server ended the last session of this tab. */
export function wasEnded(): boolean {
  return sessionStorage.getItem(endedKey) !== null;
}

/** Begins a session with an API token. The caller has checked that the server accepts it. */
export function beginWithToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
  begin();
}

/** Begins the session with this id, whose cookie the browser has received. */
export function beginWithCookie(id: string): void {
  localStorage.setItem(idKey, id);
  begin();
}

/** Forgets the session in this browser. `byServer`: the server no longer accepts it. */
export function forgetSession(byServer = false): void {
  if (currentToken() === null) localStorage.removeItem(idKey);
  sessionStorage.removeItem(tokenKey);
  if (byServer) sessionStorage.setItem(endedKey, 'true');
  notifyListeners();
}

/** Calls the listener after each begin and end, also in other tabs. Returns a function that ends this. */
export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Returns a name that tabs of the same session share, and that does not reveal a token. Tabs with other rights must not
 * receive the events of this session.
 */
export function sessionName(): string {
  let hash = 0x811c9dc5;
  for (const character of currentSession() ?? '') hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(36);
}

function begin(): void {
  sessionStorage.removeItem(endedKey);
  notifyListeners();
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}
