import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as group from './annotation-group.ts';

export function mountAnnotationGroup(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.listOrganizationAnnotationsGroup, ({ caller, params }) =>
      group.listAnnotationGroups(deps, caller, params.organizationId),
    )
    .on(operations.createOrganizationAnnotationsGroup, ({ caller, params, body }) =>
      group.createAnnotationGroup(deps, caller, params.organizationId, body),
    )
    .on(operations.getOrganizationAnnotationsGroup, ({ caller, params }) => group.readAnnotationGroup(deps, caller, params))
    .on(operations.editOrganizationAnnotationsGroup, ({ caller, params, body }) =>
      group.editAnnotationGroup(deps, caller, params, body),
    )
    .on(operations.deleteOrganizationAnnotationsGroup, ({ caller, params }) => group.deleteAnnotationGroup(deps, caller, params))
    .on(operations.getOrganizationAnnotationsGroupAssociatedItems, ({ caller, params }) =>
      group.listAnnotationGroupItems(deps, caller, params),
    );
}
