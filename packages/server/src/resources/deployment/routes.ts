import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as deployment from './deployment.ts';
import * as status from './status.ts';

export function mountDeployment(mounting: Mounting, deps: Deps): void {
  mountStatus(mounting, deps);
  mountQueue(mounting, deps);
  mounting
    .on(operations.deployEnvironment, ({ caller, params: { environmentId }, query }) =>
      deployment.deployEnvironment(deps, caller, { environmentId, what: 'deploy', dryRun: query.dry_run ?? false }),
    )
    .on(operations.redeployEnvironment, ({ caller, params: { environmentId }, query }) =>
      deployment.actOnEnvironment(deps, caller, { environmentId, what: 'redeploy', dryRun: query.dry_run ?? false }),
    )
    .on(operations.stopEnvironment, ({ caller, params: { environmentId }, query }) =>
      deployment.actOnEnvironment(deps, caller, { environmentId, what: 'stop', dryRun: query.dry_run ?? false }),
    )
    .on(operations.cancelEnvironmentDeployment, ({ caller, params, body }) =>
      deployment.cancelDeployment(deps, caller, params.environmentId, body),
    )
    .on(operations.deleteEnvironment, ({ caller, params }) => deployment.deleteEnvironment(deps, caller, params.environmentId));
}

function mountStatus(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.getEnvironmentStatus, ({ caller, params }) => status.readEnvironmentStatus(deps, caller, params.environmentId))
    .on(operations.getEnvironmentStatuses, ({ caller, params }) => status.readStatuses(deps, caller, params.environmentId))
    .on(operations.getContainerRegistryContainerStatus, ({ caller, params }) => status.readRegistryStatuses(deps, caller, params))
    .on(operations.listServicesByEnvironmentId, ({ caller, params }) =>
      deployment.listEnvironmentServices(deps, caller, params.environmentId),
    )
    .on(operations.listEnvironmentDeploymentHistoryV2, ({ caller, params, query }) =>
      deployment.listHistory(deps, caller, params.environmentId, query),
    )
    .on(operations.listEnvironmentLogs, ({ caller, params, query }) =>
      deployment.readLogs(deps, caller, params.environmentId, query.version ?? null),
    );
}

function mountQueue(mounting: Mounting, deps: Deps): void {
  mounting
    .on(operations.listDeploymentRequestByEnvironmentId, ({ caller, params }) =>
      deployment.listEnvironmentQueue(deps, caller, params.environmentId),
    )
    .on(operations.listDeploymentRequestByServiceId, ({ caller, params }) =>
      deployment.listServiceQueue(deps, caller, params.serviceId),
    )
    .on(operations.cancelDeploymentRequest, ({ caller, params }) =>
      deployment.withdrawRequest(deps, caller, params.deploymentRequestId),
    );
}
