import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as group from './label-group.ts';

export function mountLabelGroup(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.listOrganizationLabelsGroup, ({ caller, params }) =>
      group.listLabelGroups(deps, caller, params.organizationId),
    )
    .on(operations.createOrganizationLabelsGroup, ({ caller, params, body }) =>
      group.createLabelGroup(deps, caller, params.organizationId, body),
    )
    .on(operations.getOrganizationLabelssGroup, ({ caller, params }) => group.readLabelGroup(deps, caller, params))
    .on(operations.editOrganizationLabelsGroup, ({ caller, params, body }) => group.editLabelGroup(deps, caller, params, body))
    .on(operations.deleteOrganizationLabelsGroup, ({ caller, params }) => group.deleteLabelGroup(deps, caller, params))
    .on(operations.getOrganizationLabelsGroupAssociatedItems, ({ caller, params }) =>
      group.listLabelGroupItems(deps, caller, params),
    );
}
