import { AppError } from '@davit/base';
import { scopes, type Operation, type Scope } from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import { canSee, type Caller } from './caller.ts';
import { organizationOf } from './store.ts';

const rank: Readonly<Record<Scope, number>> = {
  READ: scopes.indexOf('READ'),
  DEPLOY: scopes.indexOf('DEPLOY'),
  WRITE: scopes.indexOf('WRITE'),
  ADMIN: scopes.indexOf('ADMIN'),
};

/** Whether the token may do it at all; whether it may see what the operation is about, the operation's rule checks. */
export function suffices(caller: Caller, operation: Operation): boolean {
  return rank[caller.scope] >= rank[operation.scope];
}

/** What an operation is refused with whose scope the token lacks: NOT_FOUND where the caller may not know of it, else FORBIDDEN. */
export async function refusal(
  place: { readonly database: Queryable; readonly engine: EnginePort },
  caller: Caller,
  operation: Operation,
  id: string | undefined,
): Promise<AppError> {
  if (operation.target !== 'instance') {
    const organizationId = id === undefined ? undefined : await placeOf(place, operation.target, id);
    if (organizationId === undefined || !canSee(caller, organizationId)) return notFound(words[operation.target]);
  }
  return new AppError({
    code: 'FORBIDDEN',
    message: `This needs a token of scope ${operation.scope}; this one has ${caller.scope}.`,
  });
}

const words: Readonly<Record<Exclude<Operation['target'], 'instance'>, string>> = {
  organization: 'organization',
  project: 'project',
  environment: 'environment',
  cluster: 'cluster',
  service: 'service',
  deploymentStage: 'deployment stage',
  deploymentRequest: 'deployment request',
  variable: 'variable',
};

/** For every kind of resource the same words, whether it does not exist or may not be seen. */
export function notFound(what: string): AppError {
  return new AppError({ code: 'NOT_FOUND', message: `There is no such ${what}.` });
}

/** The same, by what the first id of the operation names. */
export function targetNotFound(operation: Operation): AppError {
  return notFound(operation.target === 'instance' ? 'resource' : words[operation.target]);
}

async function placeOf(
  place: { readonly database: Queryable; readonly engine: EnginePort },
  target: Exclude<Operation['target'], 'instance'>,
  id: string,
): Promise<string | undefined> {
  if (target === 'deploymentRequest') return (await place.engine.placeOfRequest(place.database, id))?.organizationId;
  return (await place.database.maybe(organizationOf[target], [id]))?.organization_id;
}
