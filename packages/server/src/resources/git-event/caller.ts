import type { Caller } from '../../auth/caller.ts';

/** In whose name pushes and pull requests are followed; requests of it are merged with each other. `author`: as the host has it. */
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
