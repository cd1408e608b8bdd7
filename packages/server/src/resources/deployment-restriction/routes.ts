import { kinds, restrictionOperations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as restriction from './deployment-restriction.ts';

type Params = Readonly<Record<string, string>>;

/** The same for each type of service that has them. */
export function mountDeploymentRestriction(mounting: Mounting, deps: Deps): void {
  for (const type of ['APPLICATION', 'JOB'] as const) {
    // One type's operations stand for all: they differ in their words only.
    const operations: (typeof restrictionOperations)[keyof typeof restrictionOperations] = restrictionOperations[type];
    const service = (params: Params): restriction.RestrictedService => ({ id: params[`${kinds[type].noun}Id`] ?? '', type });
    const place = (params: Params) => ({ ...service(params), restrictionId: params['deploymentRestrictionId'] ?? '' });
    mounting
      .on(operations.list, ({ caller, params }) => restriction.listRestrictions(deps, caller, service(params)))
      .on(operations.create, ({ caller, params, body }) => restriction.createRestriction(deps, caller, service(params), body))
      .on(operations.edit, ({ caller, params, body }) => restriction.editRestriction(deps, caller, place(params), body))
      .on(operations.delete, ({ caller, params }) => restriction.deleteRestriction(deps, caller, place(params)));
  }
}
