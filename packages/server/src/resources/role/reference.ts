import { builtInRoles, roleDescriptions, type BuiltInRole, type MemberRole } from '@davit/contract';
import type { Queryable } from '@davit/db';
import * as store from './store.ts';

/** A built-in or a custom role, as used by members, invitations and API tokens. Exactly one of the two is set. */
export interface RoleReference {
  readonly role: BuiltInRole | null;
  readonly custom_role_id: string | null;
  readonly custom_role_name: string | null;
}

/** Returns the role with that id in the organization. */
export async function findRole(db: Queryable, organizationId: string, roleId: string): Promise<RoleReference | undefined> {
  const id = roleId.toLowerCase();
  const builtIn = builtInRoles.find((role) => roleDescriptions[role].id === id);
  if (builtIn !== undefined) return { role: builtIn, custom_role_id: null, custom_role_name: null };
  const custom = await db.maybe(store.roleName, [organizationId, id]);
  return custom === undefined ? undefined : { role: null, custom_role_id: custom.id, custom_role_name: custom.name };
}

export function roleIdOf({ role, custom_role_id }: RoleReference): string {
  return role === null ? (custom_role_id ?? '') : roleDescriptions[role].id;
}

export function roleNameOf({ role, custom_role_name }: RoleReference): string {
  return role === null ? (custom_role_name ?? '') : roleDescriptions[role].name;
}

/**
 * Returns the older API's word that is nearest to the role. A custom role has no word of its own and becomes DEVELOPER.
 */
export function roleWordOf({ role }: RoleReference): MemberRole {
  return role === null ? 'DEVELOPER' : roleDescriptions[role].word;
}
