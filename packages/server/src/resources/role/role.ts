import { randomUUID } from 'node:crypto';
import {
  builtInRoles,
  environmentModes,
  roleDescriptions,
  type Body,
  type EnvironmentMode,
  type operations,
  type PathParameters,
  type ProjectPermission,
  type Response,
} from '@davit/contract';
import { isForeignKeyViolation, type Queryable } from '@davit/db';
import type { Caller } from '../../auth/caller.ts';
import { accessChanged } from '../../auth/store.ts';
import type { Needs } from '../../deps.ts';
import { readOrganization } from '../organization/index.ts';
import { inUse, refuseTakenName } from '../shared/naming.ts';
import { invalidReference, notFound, Problems } from '../shared/problems.ts';
import * as store from './store.ts';

type CustomRole = Response<(typeof operations)['getOrganizationCustomRole']>;
type CustomRoles = Response<(typeof operations)['listOrganizationCustomRoles']>;
type AvailableRoles = Response<(typeof operations)['listOrganizationAvailableRoles']>;
type CreateRequest = Body<(typeof operations)['createOrganizationCustomRole']>;
type EditRequest = Body<(typeof operations)['editOrganizationCustomRole']>;
type RoleIds = PathParameters<(typeof operations)['getOrganizationCustomRole']>;

export async function listAvailableRoles(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
): Promise<AvailableRoles> {
  await readOrganization(deps, caller, organizationId);
  const builtIn = builtInRoles.map((role) => ({ id: roleDescriptions[role].id, name: roleDescriptions[role].name }));
  return { results: [...builtIn, ...(await deps.database.many(store.roleNames, [organizationId]))] };
}

export async function listCustomRoles(deps: Needs<'database'>, caller: Caller, organizationId: string): Promise<CustomRoles> {
  await readOrganization(deps, caller, organizationId);
  const rows = await deps.database.many(store.roleList, [organizationId, caller.organizationId]);
  return { results: rows.map(toCustomRole) };
}

export async function createCustomRole(
  deps: Needs<'database'>,
  caller: Caller,
  organizationId: string,
  request: CreateRequest,
): Promise<CustomRole> {
  const values = [organizationId, caller.organizationId, randomUUID(), request.name, request.description ?? ''];
  const made = await refuseTaken(request.name, () => deps.database.maybe(store.roleCreate, values)).catch((error: unknown) => {
    // The organization was deleted concurrently.
    if (!isForeignKeyViolation(error)) throw error;
  });
  if (made === undefined) throw notFound('organization');
  return readCustomRole(deps, caller, { organizationId, customRoleId: made.id });
}

export async function readCustomRole(
  deps: Needs<'database'>,
  caller: Caller,
  ids: RoleIds,
  db: Queryable = deps.database,
): Promise<CustomRole> {
  const row = await db.maybe(store.roleRead, [ids.organizationId, caller.organizationId, ids.customRoleId]);
  if (row === undefined) throw notFound('custom role');
  return toCustomRole(row);
}

export async function editCustomRole(
  deps: Needs<'database' | 'tokens'>,
  caller: Caller,
  ids: RoleIds,
  request: EditRequest,
): Promise<CustomRole> {
  checkRepetitions(request);
  const { organizationId, customRoleId } = ids;
  const description = request.description === null ? '' : (request.description ?? null);
  const edited = await refuseTaken(request.name, () =>
    deps.database.transaction(async (tx) => {
      const values = [organizationId, caller.organizationId, customRoleId, request.name, description];
      if ((await tx.run(store.roleEdit, values)) === 0) throw notFound('custom role');
      await writePermissions(tx, ids, request);
      await tx.run(accessChanged);
      return readCustomRole(deps, caller, ids, tx);
    }),
  );
  deps.tokens.forget();
  return edited;
}

async function writePermissions(tx: Queryable, ids: RoleIds, request: EditRequest): Promise<void> {
  const { organizationId, customRoleId } = ids;
  const clusters = request.cluster_permissions.map(({ cluster_id, permission = 'VIEWER' }) => ({ cluster_id, permission }));
  const projects = request.project_permissions.map(({ project_id, is_admin = false, permissions = [] }) => ({
    project_id,
    is_admin,
    permissions: Object.fromEntries(permissions.map((one) => [one.environment_type, one.permission])),
  }));
  await tx.run(store.roleClustersClear, [customRoleId, clusters.map(({ cluster_id }) => cluster_id)]);
  await tx.run(store.roleProjectsClear, [customRoleId, projects.map(({ project_id }) => project_id)]);
  const values = [customRoleId, organizationId];
  const ofClusters = await tx.many(store.roleClustersSet, [...values, JSON.stringify(clusters)]);
  checkFound(
    ofClusters,
    clusters.map(({ cluster_id }) => cluster_id),
    (at) => `cluster_permissions.${at}.cluster_id`,
  );
  const ofProjects = await tx.many(store.roleProjectsSet, [...values, JSON.stringify(projects)]);
  checkFound(
    ofProjects,
    projects.map(({ project_id }) => project_id),
    (at) => `project_permissions.${at}.project_id`,
  );
}

function checkFound(rows: readonly { id: string }[], wanted: readonly string[], pathOf: (at: number) => string): void {
  const found = new Set(rows.map(({ id }) => id));
  const at = wanted.findIndex((id) => !found.has(id.toLowerCase()));
  if (at >= 0) throw invalidReference(pathOf(at), 'is not an id of this organization');
}

function checkRepetitions({ cluster_permissions, project_permissions }: EditRequest): void {
  const problems = new Problems();
  const once = (values: readonly string[], pathOf: (at: number) => string): void => {
    values.forEach((value, at) => {
      if (values.indexOf(value) < at) problems.add(pathOf(at), 'is named twice; name it once');
    });
  };
  once(
    cluster_permissions.map((one) => one.cluster_id.toLowerCase()),
    (at) => `cluster_permissions.${at}.cluster_id`,
  );
  once(
    project_permissions.map((one) => one.project_id.toLowerCase()),
    (at) => `project_permissions.${at}.project_id`,
  );
  project_permissions.forEach(({ permissions = [] }, index) => {
    const path = `project_permissions.${index}.permissions`;
    once(
      permissions.map((one) => one.environment_type),
      (at) => `${path}.${at}.environment_type`,
    );
  });
  problems.throwIfAny();
}

export async function deleteCustomRole(deps: Needs<'database'>, caller: Caller, ids: RoleIds): Promise<void> {
  try {
    const count = await deps.database.run(store.roleDelete, [ids.organizationId, caller.organizationId, ids.customRoleId]);
    if (count === 0) throw notFound('custom role');
  } catch (error) {
    if (!isForeignKeyViolation(error)) throw error;
    const names = (await deps.database.many(store.roleUsers, [ids.customRoleId])).map(({ name }) => name);
    throw inUse('The role', { noun: 'members, invitations or API tokens:', names });
  }
}

function refuseTaken<Result>(name: string, write: () => Promise<Result>): Promise<Result> {
  return refuseTakenName({ index: 'custom_role_name', noun: 'custom role', name, where: 'in this organization' }, write);
}

function toCustomRole(row: store.CustomRoleRow): CustomRole {
  const permissionsOf = (
    given: Partial<Record<EnvironmentMode, ProjectPermission>>,
  ): { environment_type: EnvironmentMode; permission: ProjectPermission }[] =>
    environmentModes.map((mode) => ({ environment_type: mode, permission: given[mode] ?? 'NO_ACCESS' }));
  return {
    ...row,
    project_permissions: row.project_permissions.map((one) => ({ ...one, permissions: permissionsOf(one.permissions) })),
  };
}
