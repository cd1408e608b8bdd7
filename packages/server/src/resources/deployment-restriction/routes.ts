import { kinds, restrictionOperations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as restriction from './deployment-restriction.ts';

type Params = Readonly<Record<string, string>>;

/** Mounts the same routes for each type of service that has restrictions. */
export function mountDeploymentRestriction(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  for (const type of ['APPLICATION', 'JOB', 'HELM', 'TERRAFORM'] as const) {
    // The operations of one type stand for those of all types. They differ only in their names.
    const operations: (typeof restrictionOperations)[keyof typeof restrictionOperations] = restrictionOperations[type];
    const service = (params: Params): restriction.RestrictedService => ({ id: params[`${kinds[type].noun}Id`] ?? '', type });
    const location = (params: Params) => ({ ...service(params), restrictionId: params['deploymentRestrictionId'] ?? '' });
    mounting
      .on(operations.list, ({ caller, params }) => restriction.listRestrictions(deps, caller, service(params)))
      .on(operations.create, ({ caller, params, body }) => restriction.createRestriction(deps, caller, service(params), body))
      .on(operations.edit, ({ caller, params, body }) => restriction.editRestriction(deps, caller, location(params), body))
      .on(operations.delete, ({ caller, params }) => restriction.deleteRestriction(deps, caller, location(params)));
  }
}
