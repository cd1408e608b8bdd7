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
import { judge, refused, type Place } from './custom-role.ts';
import { organizationOf, type PlaceRow } from './store.ts';

const rank: Readonly<Record<Scope, number>> = {
  READ: scopes.indexOf('READ'),
  DEPLOY: scopes.indexOf('DEPLOY'),
  WRITE: scopes.indexOf('WRITE'),
  ADMIN: scopes.indexOf('ADMIN'),
};

const allowedBy = new Map<BuiltInRole, ReadonlySet<Operation>>(
  builtInRoles.map((role) => [role, new Set(operationList.filter((operation) => roleMay(role, operation)))]),
);

/** What needs no membership: the own account, founding an organization, and what all may read. */
const forAnyPerson: ReadonlySet<Operation> = new Set(
  operationList.filter(
    (one) =>
      one.target === 'instance' && (one.audience === 'people' || one.scope === 'READ' || one === operations.createOrganization),
  ),
);

/** What the caller's rights alone say of an operation; `ask`: it depends on where the resource is, see `callerAt`. */
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

interface World {
  readonly database: Queryable;
  readonly engine: EnginePort;
}

/** The parameters of the operation's path, in its order. */
export type Ids = Readonly<Record<string, string>>;

/** What an operation is refused with that the caller's rights do not allow: NOT_FOUND where it may not know of it, else FORBIDDEN. */
export async function refusal(world: World, caller: Caller, operation: Operation, ids: Ids): Promise<AppError> {
  if (operation.target !== 'instance') {
    const place = await placeOf(world, operation.target, ids);
    if (place === undefined || !canSee(caller, place.organization_id)) return targetNotFound(operation);
  }
  return forbidden(caller, operation);
}

/**
 * The caller as it acts in the organization of the resource that the request names: a person with the membership there, a custom
 * role where it allows the operation. Throws NOT_FOUND or FORBIDDEN.
 */
export async function callerAt(world: World, caller: Caller, operation: Operation, ids: Ids): Promise<Caller> {
  if (operation.target === 'instance') return caller;
  const place = await placeOf(world, operation.target, ids);
  if (place === undefined) throw targetNotFound(operation);
  const { organization_id: organizationId } = place;
  const access = accessIn(caller, organizationId);
  const there: Caller = { ...caller, organizationId, access: access ?? { kind: 'none' } };
  // Whom an invitation invites is no member yet: its rule looks at the e-mail address.
  if (operation.target === 'invitation' && caller.person !== null) return there;
  if (access === undefined) throw targetNotFound(operation);
  const clusterId = ids['clusterId'] ?? place.cluster_id ?? null;
  checkNamed(there, operation, { projectId: place.project_id ?? null, mode: place.mode ?? null, clusterId });
  return there;
}

/**
 * Judges a place of the caller's organization. For a place that a query or body names, `operation` is the one that does the same with
 * this place in its path. Throws NOT_FOUND where a custom role sees nothing of the place, and FORBIDDEN.
 */
export function checkNamed(caller: Caller, operation: Operation, place: Place): void {
  const { access } = caller;
  if (access.kind !== 'custom') {
    if (admits(caller, operation) !== 'yes') throw forbidden(caller, operation);
    return;
  }
  const verdict = judge(access.rights, operation, place);
  if (verdict.kind === 'hidden') throw targetNotFound(operation);
  if (verdict.kind === 'forbidden') throw refused(access.rights, verdict.why);
}

function accessIn(caller: Caller, organizationId: string): Access | undefined {
  if (caller.person !== null) return caller.person.memberships.get(organizationId);
  return canSee(caller, organizationId) ? caller.access : undefined;
}

function forbidden({ access, person }: Caller, operation: Operation): AppError {
  if (operation.audience === 'people' && person === null) {
    return refusedWith('This is for people who signed in: send a JWT of an issuer, not an API token.');
  }
  switch (access.kind) {
    case 'scope':
      return refusedWith(`This needs a token of scope ${operation.scope}; this one has ${access.scope}.`);
    case 'role': {
      const able = builtInRoles.filter((role) => allowedBy.get(role)?.has(operation)).map((role) => roleDescriptions[role].name);
      return refusedWith(`The role ${roleDescriptions[access.role].name} does not allow this; ${able.join(', ')} can do it.`);
    }
    case 'custom':
      return refused(access.rights, 'this is for built-in roles only');
    case 'none':
      return refusedWith('This is for members of an organization.');
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

/** For every kind of resource the same words, whether it does not exist or may not be seen. */
export function notFound(what: string): AppError {
  return new AppError({ code: 'NOT_FOUND', message: `There is no such ${what}.` });
}

/** The same, by what the first id of the operation names. */
export function targetNotFound(operation: Operation): AppError {
  return notFound(operation.target === 'instance' ? 'resource' : words[operation.target]);
}

async function placeOf(
  { database, engine }: World,
  target: Exclude<Operation['target'], 'instance'>,
  ids: Ids,
): Promise<PlaceRow | undefined> {
  // Some paths begin with a word, as of a type.
  const [first = '', second = ''] = Object.entries(ids).flatMap(([name, id]) => (name.endsWith('Id') ? [id] : []));
  if (target === 'invitation') {
    const place = await database.maybe(organizationOf.invitation, [second]);
    return place?.organization_id === first ? place : undefined;
  }
  if (target !== 'deploymentRequest') return database.maybe(organizationOf[target], [first]);
  const place = await engine.placeOfRequest(database, first);
  if (place === null) return undefined;
  // A request outlives its environment; then nothing tells the mode any more.
  const environment = await database.maybe(organizationOf.environment, [place.environmentId]);
  return environment ?? { organization_id: place.organizationId };
}
