import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as restriction from './deployment-restriction.ts';

function application(params: { readonly applicationId: string }): restriction.RestrictedService {
  return { id: params.applicationId, type: 'APPLICATION' };
}

function job(params: { readonly jobId: string }): restriction.RestrictedService {
  return { id: params.jobId, type: 'JOB' };
}

export function mountDeploymentRestriction(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.getApplicationDeploymentRestrictions, ({ caller, params }) =>
      restriction.listRestrictions(deps, caller, application(params)),
    )
    .on(operations.createApplicationDeploymentRestriction, ({ caller, params, body }) =>
      restriction.createRestriction(deps, caller, application(params), body),
    )
    .on(operations.editApplicationDeploymentRestriction, ({ caller, params, body }) => {
      const place = { ...application(params), restrictionId: params.deploymentRestrictionId };
      return restriction.editRestriction(deps, caller, place, body);
    })
    .on(operations.deleteApplicationDeploymentRestriction, ({ caller, params }) => {
      const place = { ...application(params), restrictionId: params.deploymentRestrictionId };
      return restriction.deleteRestriction(deps, caller, place);
    })
    .on(operations.getJobDeploymentRestrictions, ({ caller, params }) => restriction.listRestrictions(deps, caller, job(params)))
    .on(operations.createJobDeploymentRestriction, ({ caller, params, body }) =>
      restriction.createRestriction(deps, caller, job(params), body),
    )
    .on(operations.editJobDeploymentRestriction, ({ caller, params, body }) => {
      const place = { ...job(params), restrictionId: params.deploymentRestrictionId };
      return restriction.editRestriction(deps, caller, place, body);
    })
    .on(operations.deleteJobDeploymentRestriction, ({ caller, params }) => {
      const place = { ...job(params), restrictionId: params.deploymentRestrictionId };
      return restriction.deleteRestriction(deps, caller, place);
    });
}
