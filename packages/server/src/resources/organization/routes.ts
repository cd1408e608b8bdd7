import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as organization from './organization.ts';

export function mountOrganization(mounting: Mounting, deps: Needs<'database' | 'tokens'>): void {
  mounting
    .on(operations.createOrganization, ({ caller, body }) => organization.createOrganization(deps, caller, body))
    .on(operations.listOrganization, ({ caller }) => organization.listOrganizations(deps, caller))
    .on(operations.getOrganization, ({ caller, params }) => organization.readOrganization(deps, caller, params.organizationId))
    .on(operations.editOrganization, ({ caller, params, body }) =>
      organization.editOrganization(deps, caller, params.organizationId, body),
    )
    .on(operations.deleteOrganization, ({ caller, params }) =>
      organization.deleteOrganization(deps, caller, params.organizationId),
    );
}
