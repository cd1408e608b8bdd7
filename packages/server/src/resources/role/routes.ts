import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as role from './role.ts';

export function mountRole(mounting: Mounting, deps: Needs<'database' | 'tokens'>): void {
  mounting
    .on(operations.listOrganizationAvailableRoles, ({ caller, params }) =>
      role.listAvailableRoles(deps, caller, params.organizationId),
    )
    .on(operations.listOrganizationCustomRoles, ({ caller, params }) => role.listCustomRoles(deps, caller, params.organizationId))
    .on(operations.createOrganizationCustomRole, ({ caller, params, body }) =>
      role.createCustomRole(deps, caller, params.organizationId, body),
    )
    .on(operations.getOrganizationCustomRole, ({ caller, params }) => role.readCustomRole(deps, caller, params))
    .on(operations.editOrganizationCustomRole, ({ caller, params, body }) => role.editCustomRole(deps, caller, params, body))
    .on(operations.deleteOrganizationCustomRole, ({ caller, params }) => role.deleteCustomRole(deps, caller, params));
}
