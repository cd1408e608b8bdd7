import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as event from './event.ts';

export function mountEvent(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.getOrganizationEvents, ({ caller, params, query }) =>
      event.listEvents(deps, caller, params.organizationId, query),
    )
    .on(operations.getOrganizationEventTargets, ({ caller, params, query }) =>
      event.listTargets(deps, caller, params.organizationId, query),
    );
}
