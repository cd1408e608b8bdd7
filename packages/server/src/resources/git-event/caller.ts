import type { Caller } from '../../auth/caller.ts';

/**
 * Returns the caller in whose name pushes and pull requests are processed. Requests of the same caller are merged.
 * `author`: name of the author at the git host.
 */
export function gitCaller(organizationId: string, author: string): Caller {
  return {
    actor: 'git',
    name: author === '' ? 'git' : `git: ${author}`,
    access: { kind: 'scope', scope: 'ADMIN' },
    organizationId,
    origin: 'GIT',
    person: null,
  };
}
