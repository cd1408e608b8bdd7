import {
  serviceScopes,
  variableScopesOfPaths,
  type EnvironmentMode,
  type Operation,
  type ServiceScope,
  type VariableScope,
} from '@davit/contract';
import type { Queryable } from '@davit/db';
import { checkNamed } from '../../auth/authorize.ts';
import type { Caller } from '../../auth/caller.ts';
import { clusterEndpoint } from '../../cluster-settings.ts';
import type { Needs } from '../../deps.ts';
import { openEnvironment } from '../environment/index.ts';
import { notFound } from '../shared/problems.ts';
import { databaseBuiltIns, environmentBuiltIns, projectBuiltIns, type BuiltIn } from './builtin.ts';
import { level, type Level, type VariableRow } from './row.ts';
import { holdProjectFacts, readEnvironmentFacts, readProjectFacts, type EnvironmentFactsRow } from './store.ts';

/** A project, environment or service, from which variables are seen. */
export interface VariableOwner {
  readonly organizationId: string;
  readonly projectId: string;
  /** null: the owner is the project. */
  readonly environmentId: string | null;
  /** Mode of the environment; null: the owner is the project. */
  readonly mode: EnvironmentMode | null;
  /** null: the owner is the environment or project. */
  readonly service: { readonly id: string; readonly name: string; readonly type: ServiceScope } | null;
  readonly builtIns: readonly BuiltIn[];
}

/** An owner as named by a request. */
export interface OwnerReference {
  readonly scope: 'PROJECT' | 'ENVIRONMENT' | ServiceScope;
  readonly id: string;
}

export interface ServiceOwnerReference {
  readonly scope: ServiceScope;
  readonly id: string;
}

/**
 * Finds the services that are owners. Passed as a parameter, because the `service` folder imports this one. Both
 * functions fail with NOT_FOUND.
 */
export interface ServiceOwners {
  read(db: Queryable, caller: Caller, reference: ServiceOwnerReference): Promise<VariableOwner>;
  /** Locks the service against deletion until the transaction ends. Also fails with BEING_DELETED. */
  hold(tx: Queryable, caller: Caller, reference: ServiceOwnerReference): Promise<VariableOwner>;
}

export type VariableDeps = Needs<'database' | 'engine' | 'vault', 'clusterSettings' | 'gatewayDomain' | 'variablePrefix'>;

/** The parameters of the operations on variables. */
export interface VariableContext {
  readonly deps: VariableDeps;
  readonly services: ServiceOwners;
}

/** Returns the owner for a scope and id of a request; undefined for BUILT_IN, where variables cannot be defined. */
export function ownerReference(scope: VariableScope, id: string): OwnerReference | undefined {
  return scope === 'BUILT_IN' ? undefined : { scope, id };
}

/**
 * The purpose of finding an owner, which selects the operation to authorize. The right to create suffices for all
 * changes.
 */
type Purpose = 'list' | 'create';

/**
 * Returns an owner that the caller may list or change, named in the path, query or body of a request. Fails with
 * NOT_FOUND, or with FORBIDDEN for a custom role that sees the owner but may not change it.
 */
export async function readOwner(
  context: VariableContext,
  caller: Caller,
  reference: OwnerReference,
  purpose: Purpose = 'list',
): Promise<VariableOwner> {
  const owner = await findOwner(context, caller, reference);
  checkRights(caller, owner, purpose);
  return owner;
}

/**
 * Returns an owner for a change, and locks it against deletion until the transaction ends. Also fails with
 * BEING_DELETED.
 */
export async function lockOwner(
  context: VariableContext,
  tx: Queryable,
  caller: Caller,
  reference: OwnerReference,
): Promise<VariableOwner> {
  const owner = await findAndLockOwner(context, tx, caller, reference);
  checkRights(caller, owner, 'create');
  return owner;
}

function checkRights(caller: Caller, owner: VariableOwner, purpose: Purpose): void {
  const { projectId, mode } = owner;
  checkNamed(caller, operationAt(owner)[purpose], { projectId, mode, clusterId: null });
}

// All types of service need the same right, and some have no paths of their own.
function operationAt({ environmentId, service }: VariableOwner): Readonly<Record<Purpose, Operation>> {
  if (service !== null) return variableScopesOfPaths.APPLICATION.variables;
  return environmentId === null ? variableScopesOfPaths.PROJECT.variables : variableScopesOfPaths.ENVIRONMENT.variables;
}

async function findOwner(
  { deps, services }: VariableContext,
  caller: Caller,
  { scope, id }: OwnerReference,
): Promise<VariableOwner> {
  const db = deps.database;
  if (isServiceScope(scope)) return services.read(db, caller, { scope, id });
  if (scope === 'PROJECT') return projectOwner(deps, id, await db.maybe(readProjectFacts, [id, caller.organizationId]));
  return environmentFacts(deps, db, caller, id);
}

async function findAndLockOwner(
  { deps, services }: VariableContext,
  tx: Queryable,
  caller: Caller,
  { scope, id }: OwnerReference,
): Promise<VariableOwner> {
  if (isServiceScope(scope)) return services.hold(tx, caller, { scope, id });
  if (scope === 'PROJECT') return projectOwner(deps, id, await tx.maybe(holdProjectFacts, [id, caller.organizationId]));
  await openEnvironment(tx, caller, id, 'change');
  return environmentFacts(deps, tx, caller, id);
}

function isServiceScope(scope: OwnerReference['scope']): scope is ServiceScope {
  return serviceScopes.some((one) => one === scope);
}

// Name of the variable with the project's id in the project's own list, which clients rely on (semantics 4.6).
// Processes receive the id.
const projectIdInList = '||Q_PRJ_ID||';

function projectOwner(
  { config }: Needs<never, 'variablePrefix'>,
  id: string,
  row: { readonly organization_id: string; readonly created_at: string } | undefined,
): VariableOwner {
  if (row === undefined) throw notFound('project');
  const facts = { organizationId: row.organization_id, projectId: id, projectCreatedAt: row.created_at };
  const builtIns = projectBuiltIns(facts, config.variablePrefix).map((one) =>
    one.name === 'PROJECT_ID' ? { ...one, value: projectIdInList } : one,
  );
  return { organizationId: row.organization_id, projectId: id, environmentId: null, mode: null, service: null, builtIns };
}

async function environmentFacts(
  { config }: Needs<never, 'clusterSettings' | 'gatewayDomain' | 'variablePrefix'>,
  db: Queryable,
  caller: Caller,
  id: string,
): Promise<VariableOwner> {
  const row = await db.maybe(readEnvironmentFacts, [id, caller.organizationId]);
  if (row === undefined) throw notFound('environment');
  const domain = clusterEndpoint(config.clusterSettings, row.cluster_id)?.domain ?? config.gatewayDomain;
  const builtIns = [
    ...environmentBuiltIns({ ...toFacts(row), domain }, config.variablePrefix),
    ...databaseBuiltIns(row.databases, config.variablePrefix),
  ];
  return {
    organizationId: row.organization_id,
    projectId: row.project_id,
    environmentId: id,
    mode: row.mode,
    service: null,
    builtIns,
  };
}

function toFacts(row: EnvironmentFactsRow) {
  return {
    organizationId: row.organization_id,
    projectId: row.project_id,
    projectCreatedAt: row.project_created_at,
    environmentId: row.id,
    environmentName: row.name,
    environmentMode: row.mode,
    environmentCreatedAt: row.created_at,
    clusterId: row.cluster_id,
    cloudProvider: row.cloud_provider,
    region: row.region,
  };
}

export function levelOf(location: Pick<VariableOwner, 'environmentId' | 'service'>): Level {
  return location.service !== null ? 2 : location.environmentId !== null ? 1 : 0;
}

/** Returns the id of the service, environment or project. */
export function idOf(owner: VariableOwner): string {
  return owner.service?.id ?? owner.environmentId ?? owner.projectId;
}

/** Returns whether a visible variable is defined at the owner itself. */
export function isOwnedBy(row: VariableRow, owner: VariableOwner): boolean {
  return level(row) === levelOf(owner);
}
