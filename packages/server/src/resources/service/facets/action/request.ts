import type { Action, DeploymentRequest, JobEvent, RequestedService } from '@davit/engine/port';
import type { Caller } from '../../../../auth/caller.ts';
import { triggerOf } from '../../../shared/trigger.ts';
import type { ServiceFacts } from '../../rows.ts';

/** Returns the engine's request for an action on one service, in the name of the caller. */
export function toRequest(
  caller: Caller,
  facts: ServiceFacts,
  action: Action,
  release: RequestedService['release'],
): DeploymentRequest {
  return {
    environment: {
      organizationId: facts.organization_id,
      projectId: facts.project_id,
      environmentId: facts.environment_id,
      clusterId: facts.cluster_id,
      driver: facts.driver,
    },
    action,
    wholeEnvironment: false,
    trigger: triggerOf(caller),
    services: [toRequestedService(facts, release)],
  };
}

/** Returns the request for a run of one event of a job, or the unchanged request without an event. */
export function forEvent(request: DeploymentRequest, event: JobEvent | undefined): DeploymentRequest {
  return event === undefined ? request : { ...request, services: request.services.map((service) => ({ ...service, event })) };
}

export function toRequestedService(facts: ServiceFacts, release: RequestedService['release']): RequestedService {
  return {
    serviceId: facts.id,
    serviceType: facts.type,
    name: facts.name,
    iconUri: facts.spec.icon_uri,
    stage: { id: facts.stage_id, name: facts.stage_name, position: facts.stage_position },
    ...(release === undefined ? {} : { release }),
  };
}
