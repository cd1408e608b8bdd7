import { AppError } from '@davit/base';
import type { FastifyRequest } from 'fastify';
import { cookieTokenPrefix } from '../auth/sessions.ts';
import { signInStateSeconds } from '../auth/sign-in-states.ts';

/*
 * Sessions of browsers. Their token is in a cookie that scripts cannot read, that browsers send only with requests of
 * pages of this site (SameSite=Strict), and, with `__Host-`, that no neighbouring host can set. A change needs an
 * `Origin` of this server in addition, since pages of other ports and subdomains belong to the same site.
 */

type Request = Pick<FastifyRequest, 'headers' | 'ip' | 'protocol' | 'method'>;

/** Facts about the sender of a request, for operations that begin or end sessions. */
export class ClientFacts {
  readonly #request: Request;
  readonly #publicUrl: string | null;

  constructor(request: Request, publicUrl: string | null) {
    this.#request = request;
    this.#publicUrl = publicUrl;
  }

  get address(): string {
    return this.#request.ip;
  }

  get userAgent(): string | null {
    return this.#request.headers['user-agent'] ?? null;
  }

  /** The address at which the browser reaches this server, without a trailing slash. */
  get ownUrl(): string {
    const { headers, protocol } = this.#request;
    if (this.#publicUrl !== null) return this.#publicUrl;
    const { origin, host = 'localhost' } = headers;
    // An `Origin` of this server has the scheme that a proxy in front may hide.
    if (origin !== undefined && hostOf(origin) === host.toLowerCase()) return origin;
    return URL.canParse(`${protocol}://${host}`) ? `${protocol}://${host}` : `${protocol}://localhost`;
  }

  /** The value of the cookie with the state of a sign-in, whether valid or not. */
  get signInState(): string | undefined {
    return cookieOf(this.#request, nameOf('sign-in', usesHttps(this.#request, this.#publicUrl)));
  }

  /** Returns the `Set-Cookie` header of the state of a sign-in, which the browser needs to finish it. */
  signInStateCookie(value: string): string {
    return this.#setCookie('sign-in', value, `Max-Age=${signInStateSeconds}`);
  }

  /** The token of the session cookie, whether valid or not. */
  get sessionToken(): string | undefined {
    return sessionTokenOf(this.#request, this.#publicUrl);
  }

  /** Returns the `Set-Cookie` header of a session; without one, the header that deletes the cookie. */
  cookie(session: { readonly token: string; readonly expiresAt: Date } | null): string {
    const end = session === null ? new Date(0) : session.expiresAt;
    return this.#setCookie('session', session === null ? '' : session.token, `Expires=${end.toUTCString()}`);
  }

  #setCookie(kind: CookieKind, value: string, end: string): string {
    const isSecure = usesHttps(this.#request, this.#publicUrl);
    return `${nameOf(kind, isSecure)}=${value}; Path=/; ${end}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  }
}

type CookieKind = 'session' | 'sign-in';

/** Browsers accept the prefix `__Host-` only from https, and never with a domain or another path. */
function nameOf(kind: CookieKind, isSecure: boolean): string {
  return `${isSecure ? '__Host-' : ''}davit-${kind}`;
}

function usesHttps({ protocol }: Request, publicUrl: string | null): boolean {
  return protocol === 'https' || publicUrl?.startsWith('https://') === true;
}

function sessionTokenOf(request: Request, publicUrl: string | null): string | undefined {
  const value = cookieOf(request, nameOf('session', usesHttps(request, publicUrl)));
  return value?.startsWith(cookieTokenPrefix) === true ? value : undefined;
}

function cookieOf({ headers }: Request, name: string): string | undefined {
  const found = headers.cookie?.split(';').find((one) => one.trimStart().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1);
}

/**
 * Returns the `Authorization` header, or the equivalent of the session cookie. A header wins over a cookie. Throws
 * ORIGIN_REFUSED if a change with a cookie comes from a page of another origin.
 */
export function authorizationOf(request: Request, publicUrl: string | null): string | undefined {
  const { authorization } = request.headers;
  if (authorization !== undefined) return authorization;
  const token = sessionTokenOf(request, publicUrl);
  if (token === undefined) return undefined;
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    if (request.headers.origin === undefined) {
      throw refused('A change with the cookie of a session needs the header `Origin`, which browsers send.');
    }
    refuseForeignPage(request, publicUrl);
  }
  return `Token ${token}`;
}

/** Throws ORIGIN_REFUSED if a page of another origin sent the request. Requests of programs have no `Origin`. */
export function refuseForeignPage({ headers }: Request, publicUrl: string | null): void {
  const { origin, host } = headers;
  if (origin === undefined || origin === ownOrigin(publicUrl)) return;
  // A browser sets `Host` and `Origin` itself. The scheme is not compared: a proxy that ends TLS hides it.
  if (host !== undefined && hostOf(origin) === host.toLowerCase()) return;
  throw refused('A page of another origin sent this request. Only pages of this server may use its sessions.');
}

function ownOrigin(publicUrl: string | null): string | null {
  return publicUrl === null ? null : new URL(publicUrl).origin;
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

function refused(message: string): AppError {
  return new AppError({ code: 'ORIGIN_REFUSED', message });
}
