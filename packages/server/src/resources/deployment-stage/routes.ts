import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as stage from './deployment-stage.ts';

export function mountDeploymentStage(mounting: Mounting, deps: Needs<'database'>): void {
  mounting
    .on(operations.listEnvironmentDeploymentStage, ({ caller, params }) => stage.listStages(deps, caller, params.environmentId))
    .on(operations.createEnvironmentDeploymentStage, ({ caller, params, body }) =>
      stage.createStage(deps, caller, params.environmentId, body),
    )
    .on(operations.getDeploymentStage, ({ caller, params }) => stage.readStage(deps, caller, params.deploymentStageId))
    .on(operations.editDeploymentStage, ({ caller, params, body }) =>
      stage.editStage(deps, caller, params.deploymentStageId, body),
    )
    .on(operations.deleteDeploymentStage, ({ caller, params }) => stage.deleteStage(deps, caller, params.deploymentStageId))
    .on(operations.moveBeforeDeploymentStage, ({ caller, params }) =>
      stage.moveStage(deps, caller, { id: params.deploymentStageId, side: 'before', otherId: params.stageId }),
    )
    .on(operations.moveAfterDeploymentStage, ({ caller, params }) =>
      stage.moveStage(deps, caller, { id: params.deploymentStageId, side: 'after', otherId: params.stageId }),
    )
    .on(operations.attachServiceToDeploymentStage, ({ caller, params, body }) => stage.attachService(deps, caller, params, body))
    .on(operations.getServiceDeploymentStage, ({ caller, params }) => stage.readStageOfService(deps, caller, params.serviceId));
}
