import { serviceTypes, type operations, type Response, type ServiceType } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import { toHistoryDetails } from './history-details.ts';

type EnvironmentHistory = Response<(typeof operations)['listEnvironmentDeploymentHistoryV2']>['results'][number];
type HistoryService = EnvironmentHistory['stages'][number]['services'][number];
type Plan = NonNullable<Response<(typeof operations)['stopEnvironment']>['plan']>;
type Failure = NonNullable<HistoryService['failure']>;

/** Returns a duration in ISO 8601 with seconds, as in PT16.503S. */
export function isoDuration(milliseconds: number): string {
  return `PT${Math.max(0, milliseconds) / 1000}S`;
}

const subActions = {
  APPLY: 'TERRAFORM_PLAN_AND_APPLY',
  PLAN: 'TERRAFORM_PLAN_ONLY',
  FORCE_UNLOCK: 'TERRAFORM_FORCE_UNLOCK_STATE',
  MIGRATE_STATE: 'TERRAFORM_MIGRATE_STATE',
  DESTROY: 'TERRAFORM_DESTROY',
  // Only the state is deleted; no resource is changed.
  FORGET: 'NONE',
} as const satisfies Record<engine.TerraformAction, HistoryService['status_details']['sub_action']>;

/** Returns `status_details.sub_action`: the purpose of a deployment of a Terraform configuration. */
export function subActionOf(action: engine.TerraformAction | null): (typeof subActions)[engine.TerraformAction] {
  return action === null ? 'NONE' : subActions[action];
}

/** Returns the address of the page that explains an error code. This server serves the page. */
export function errorLink(code: string): string {
  return `/docs/errors#${code.toLowerCase()}`;
}

export function toFailure(failure: engine.FailureRecord): Failure {
  const { lines, exit, probe, listening, original } = failure.evidence;
  const { changedSinceSuccess: changed } = failure;
  return {
    code: failure.code,
    message: failure.message,
    hint: failure.hint,
    link: errorLink(failure.code),
    evidence: {
      ...(lines === undefined ? {} : { lines: [...lines] }),
      ...(exit === undefined ? {} : { exit: { code: exit.code, out_of_memory: exit.outOfMemory } }),
      ...(probe === undefined ? {} : { probe: [...probe] }),
      ...(listening === undefined ? {} : { listening: [...listening] }),
      ...(original === undefined ? {} : { original }),
    },
    ...(changed === undefined ? {} : { changed_since_success: changed === null ? null : toChanged(changed) }),
  };
}

function toChanged({ releaseId, at, changes, total }: engine.ChangedSinceSuccess): Failure['changed_since_success'] {
  // Times inside of JSON are as PostgreSQL returned them.
  return { release_id: releaseId, at: new Date(at).toISOString(), total, changes: changes.map((change) => ({ ...change })) };
}

export function toPlan(plan: engine.DeploymentPlan): Plan {
  return {
    action: plan.action === 'UNINSTALL' ? 'DELETE' : plan.action,
    stages: plan.stages.map(({ name, services }) => ({
      name,
      services: services.map((service) => ({
        service_id: service.serviceId,
        name: service.name,
        steps: [...service.steps],
        instances: service.instances,
        expected_downtime: service.expectedDowntime,
        notes: [...service.notes],
        changes: [...service.changes],
      })),
    })),
  };
}

/** Returns one service of one deployment, in the form that both histories share. */
export function toHistoryService(view: engine.HistoryServiceView): HistoryService {
  return {
    identifier: {
      name: view.name,
      service_id: view.serviceId,
      service_type: typeWord(view.serviceType),
      ...(view.executionId === null ? {} : { execution_id: view.executionId }),
    },
    status: view.state,
    auditing_data: auditing(view),
    details: toHistoryDetails(view),
    status_details: { action: view.action, status: view.actionStatus, sub_action: subActionOf(view.terraformAction) },
    icon_uri: view.iconUri,
    total_duration: isoDuration(view.totalMilliseconds),
    release_id: view.releaseId,
    failure: view.failure === null ? null : toFailure(view.failure),
  };
}

type Audited = Pick<engine.DeploymentView, 'createdAt' | 'updatedAt' | 'triggeredBy' | 'origin'>;

/** Returns the time, user and origin of a request. */
export function auditing({ createdAt, updatedAt, triggeredBy, origin }: Audited): EnvironmentHistory['auditing_data'] {
  return { created_at: createdAt, updated_at: updatedAt, triggered_by: triggeredBy, origin };
}

/** Returns the contract's word for a stored type. */
export function typeWord(type: string): ServiceType {
  const word = serviceTypes.find((one) => one === type);
  if (word === undefined) throw new Error(`there is no service type ${type}`);
  return word;
}
