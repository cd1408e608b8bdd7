import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { ReleaseSettings, ServiceDeps } from '../service/index.ts';
import type { Mounting } from '../../http/mount.ts';
import * as deployment from './deployment.ts';
import * as history from './history.ts';
import { readOldLog } from './old-log.ts';
import * as selection from './selection.ts';
import { readStatusesWithStages } from './stages.ts';
import * as status from './status.ts';

export function mountDeployment(mounting: Mounting, deps: ServiceDeps): void {
  mountStatus(mounting, deps);
  mountQueue(mounting, deps);
  mountOlder(mounting, deps);
  mountSelection(mounting, deps);
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

function mountStatus(mounting: Mounting, deps: Needs<'database' | 'engine', keyof ReleaseSettings | 'gatewayHttpsPort'>): void {
  mounting
    .on(operations.getEnvironmentStatus, ({ caller, params }) => status.readEnvironmentStatus(deps, caller, params.environmentId))
    .on(operations.getEnvironmentStatuses, ({ caller, params }) => status.readStatuses(deps, caller, params.environmentId))
    .on(operations.getContainerRegistryContainerStatus, ({ caller, params }) => status.readRegistryStatuses(deps, caller, params))
    .on(operations.getEnvironmentStatusesWithStages, ({ caller, params }) =>
      readStatusesWithStages(deps, caller, params.environmentId),
    )
    .on(operations.listEnvironmentServicesLinks, ({ caller, params }) => deployment.listLinks(deps, caller, params.environmentId))
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

function mountSelection(mounting: Mounting, deps: ServiceDeps): void {
  mounting
    .on(operations.deployAllServices, ({ caller, params, body }) =>
      selection.deploySelected(deps, caller, params.environmentId, body),
    )
    .on(operations.stopSelectedServices, ({ caller, params, body }) =>
      selection.stopSelected(deps, caller, params.environmentId, body),
    )
    .on(operations.rebootServices, ({ caller, params, body }) =>
      selection.restartSelected(deps, caller, params.environmentId, body),
    )
    .on(operations.deleteSelectedServices, ({ caller, params, body }) =>
      selection.deleteSelected(deps, caller, params.environmentId, body),
    )
    .on(operations.uninstallSelectedServices, ({ caller, params, body }) =>
      selection.uninstallSelected(deps, caller, params.environmentId, body),
    )
    .on(operations.uninstallEnvironment, ({ caller, params }) =>
      deployment.uninstallEnvironment(deps, caller, params.environmentId),
    );
}

function mountOlder(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  mounting
    .on(operations.listEnvironmentDeploymentHistory, ({ caller, params, query }) =>
      history.listOldEnvironmentHistory(deps, caller, params.environmentId, query.startId),
    )
    .on(operations.listEnvironmentLog, ({ caller, params }) => readOldLog(deps, caller, params.environmentId));
}

function mountQueue(mounting: Mounting, deps: Needs<'database' | 'engine'>): void {
  mounting
    .on(operations.listDeploymentRequestByEnvironmentId, ({ caller, params }) =>
      deployment.listEnvironmentQueue(deps, caller, params.environmentId),
    )
    .on(operations.listDeploymentRequestByServiceId, ({ caller, params }) =>
      deployment.listServiceQueue(deps, caller, params.serviceId),
    )
    .on(operations.getDeploymentStatusByDeploymentRequestId, ({ caller, query }) =>
      deployment.readRequestStatus(deps, caller, query.deploymentRequestId.toLowerCase()),
    )
    .on(operations.cancelDeploymentRequest, ({ caller, params }) =>
      deployment.withdrawRequest(deps, caller, params.deploymentRequestId),
    );
}
