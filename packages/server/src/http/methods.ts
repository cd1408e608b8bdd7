import type { FastifyInstance } from 'fastify';

/** Which methods the paths of a server have. */
export interface Methods {
  /** By name; empty where there is no such path. */
  of(path: string): readonly string[];
}

/** Collects the routes that are added from now on. */
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

/** Parameters stand for one part of the path, and a slash at the end does not matter. */
function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('/')}/?$`);
}
