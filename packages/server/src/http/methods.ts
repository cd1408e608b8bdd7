import type { FastifyInstance } from 'fastify';

/** The HTTP methods of each path of a server. */
export interface Methods {
  /** Returns the names of the path's methods, sorted; empty if there is no such path. */
  of(path: string): readonly string[];
}

/** Collects the methods of all routes that are added after this call. */
export function collectMethods(app: FastifyInstance): Methods {
  const methodsByUrl = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsByUrl.get(url) ?? new Set();
    for (const one of Array.isArray(method) ? method : [method]) methods.add(one);
    methodsByUrl.set(url, methods);
  });
  let patterns: readonly (readonly [RegExp, ReadonlySet<string>])[] | undefined;
  return {
    of: (path) => {
      patterns ??= [...methodsByUrl].map(([url, methods]) => [toPattern(url), methods] as const);
      return [...new Set(patterns.flatMap(([pattern, methods]) => (pattern.test(path) ? [...methods] : [])))].toSorted();
    },
  };
}

/** Returns a pattern for a route's URL. A parameter matches one segment of the path; a trailing slash is optional. */
function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('/')}/?$`);
}
