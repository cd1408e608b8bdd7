import { AppError, never } from '@davit/base';
import {
  builtInRoles,
  operationList,
  operations,
  roleDescriptions,
  roleMay,
  scopes,
  type BuiltInRole,
  type Operation,
  type Scope,
} from '@davit/contract';
import type { Queryable } from '@davit/db';
import type { EnginePort } from '@davit/engine/port';
import { canSee, type Access, type Caller } from './caller.ts';
import { judge, refused, type ResourceLocation } from './custom-role.ts';
import { organizationOf, type LocationRow } from './store.ts';

const rank: Readonly<Record<Scope, number>> = {
  READ: scopes.indexOf('READ'),
  DEPLOY: scopes.indexOf('DEPLOY'),
  WRITE: scopes.indexOf('WRITE'),
  ADMIN: scopes.indexOf('ADMIN'),
};

const allowedBy = new Map<BuiltInRole, ReadonlySet<Operation>>(
  builtInRoles.map((role) => [role, new Set(operationList.filter((operation) => roleMay(role, operation)))]),
);

/**
 * Operations that need no membership: a person's own account, creating an organization, and reads open to everybody.
 */
const forAnyPerson: ReadonlySet<Operation> = new Set(
  operationList.filter(
    (one) =>
      one.target === 'instance' && (one.audience === 'people' || one.scope === 'READ' || one === operations.createOrganization),
  ),
);

/**
 * Decides whether the caller's rights permit an operation. `ask`: the decision depends on the location of the resource,
 * see `callerAt`.
 */
export function admits(caller: Caller, operation: Operation): 'yes' | 'no' | 'ask' {
  const { access, person } = caller;
  if (person !== null) {
    if (operation.target === 'instance') return forAnyPerson.has(operation) ? 'yes' : 'no';
    if (operation.target === 'invitation') return 'ask';
  } else if (operation.audience === 'people') return 'no';
  switch (access.kind) {
    case 'scope':
      return rank[access.scope] >= rank[operation.scope] ? 'yes' : 'no';
    case 'role':
      return allowedBy.get(access.role)?.has(operation) === true ? 'yes' : 'no';
    case 'custom':
      if (operation.target === 'instance') return operation.scope === 'READ' ? 'yes' : 'no';
      return 'ask';
    case 'none':
      return 'ask';
    default:
      return never(access);
  }
}

interface AuthorizationData {
  readonly database: Queryable;
  readonly engine: EnginePort;
}

/** The parameters of the operation's path, in order. */
export type Ids = Readonly<Record<string, string>>;

/**
 * Returns the error for an operation that the caller's rights do not permit: NOT_FOUND if the caller must not know that
 * the resource exists, otherwise FORBIDDEN.
 */
export async function refusal(data: AuthorizationData, caller: Caller, operation: Operation, ids: Ids): Promise<AppError> {
  if (operation.target !== 'instance') {
    const location = await locationOf(data, operation.target, ids);
    if (location === undefined || !canSee(caller, location.organization_id)) return targetNotFound(operation);
  }
  return forbidden(caller, operation);
}

/**
 * Returns the caller with the access it has in the organization of the requested resource: a person with the membership
 * there, a custom role if it permits the operation. Throws NOT_FOUND or FORBIDDEN.
 */
export async function callerAt(data: AuthorizationData, caller: Caller, operation: Operation, ids: Ids): Promise<Caller> {
  if (operation.target === 'instance') return caller;
  const location = await locationOf(data, operation.target, ids);
  if (location === undefined) throw targetNotFound(operation);
  const { organization_id: organizationId } = location;
  const access = accessIn(caller, organizationId);
  const there: Caller = { ...caller, organizationId, access: access ?? { kind: 'none' } };
  // An invited person is not a member yet: the rule of the invitation checks the e-mail address.
  if (operation.target === 'invitation' && caller.person !== null) return there;
  if (access === undefined) throw targetNotFound(operation);
  const clusterId = ids['clusterId'] ?? location.cluster_id ?? null;
  checkNamed(there, operation, { projectId: location.project_id ?? null, mode: location.mode ?? null, clusterId });
  return there;
}

/**
 * Checks the caller's access to a location in its organization. If a query or body names the location, `operation` is the
 * equivalent operation with the location in its path. Throws NOT_FOUND if a custom role may see nothing of the location,
 * otherwise FORBIDDEN.
 */
export function checkNamed(caller: Caller, operation: Operation, location: ResourceLocation): void {
  const { access } = caller;
  if (access.kind !== 'custom') {
    if (admits(caller, operation) !== 'yes') throw forbidden(caller, operation);
    return;
  }
  const verdict = judge(access.rights, operation, location);
  if (verdict.kind === 'hidden') throw targetNotFound(operation);
  if (verdict.kind === 'forbidden') throw refused(access.rights, verdict.why);
}

function accessIn(caller: Caller, organizationId: string): Access | undefined {
  if (caller.person !== null) return caller.person.memberships.get(organizationId);
  return canSee(caller, organizationId) ? caller.access : undefined;
}

function forbidden({ access, person }: Caller, operation: Operation): AppError {
  if (operation.audience === 'people' && person === null) {
    return refusedWith('This operation is for signed-in people: send a JWT of an issuer, not an API token.');
  }
  switch (access.kind) {
    case 'scope':
      return refusedWith(`This operation needs a token of scope ${operation.scope}; this one has ${access.scope}.`);
    case 'role': {
      const able = builtInRoles.filter((role) => allowedBy.get(role)?.has(operation)).map((role) => roleDescriptions[role].name);
      return refusedWith(`The role ${roleDescriptions[access.role].name} does not allow this; ${able.join(', ')} can do it.`);
    }
    case 'custom':
      return refused(access.rights, 'this is for built-in roles only');
    case 'none':
      return refusedWith('This operation is for members of an organization.');
    default:
      return never(access);
  }
}

function refusedWith(message: string): AppError {
  return new AppError({ code: 'FORBIDDEN', message });
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
  invitation: 'invitation',
};

/** Returns the error for a resource that does not exist or must not be seen. Both cases have the same message. */
export function notFound(what: string): AppError {
  return new AppError({ code: 'NOT_FOUND', message: `There is no such ${what}.` });
}

/** Returns the error for the resource that the first id of the operation names. */
export function targetNotFound(operation: Operation): AppError {
  return notFound(operation.target === 'instance' ? 'resource' : words[operation.target]);
}

async function locationOf(
  { database, engine }: AuthorizationData,
  target: Exclude<Operation['target'], 'instance'>,
  ids: Ids,
): Promise<LocationRow | undefined> {
  // The first parameter of some paths is a word, such as a type, and not an id.
  const [first = '', second = ''] = Object.entries(ids).flatMap(([name, id]) => (name.endsWith('Id') ? [id] : []));
  if (target === 'invitation') {
    const location = await database.maybe(organizationOf.invitation, [second]);
    return location?.organization_id === first ? location : undefined;
  }
  if (target !== 'deploymentRequest') return database.maybe(organizationOf[target], [first]);
  const ref = await engine.environmentOfRequest(database, first);
  if (ref === null) return undefined;
  // A request is kept after its environment was deleted; the mode is unknown then.
  const environment = await database.maybe(organizationOf.environment, [ref.environmentId]);
  return environment ?? { organization_id: ref.organizationId };
}
