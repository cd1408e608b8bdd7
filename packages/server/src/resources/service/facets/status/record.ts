import type { operations, Response } from '@davit/contract';
import { stepNames } from '@davit/contract';
import type { ServiceView, StepView } from '@davit/engine/port';
import { subActionOf, toFailure } from '../../../shared/engine-views.ts';

export type ServiceStatusRecord = Response<(typeof operations)['getApplicationStatus']>;
type StepsRecord = NonNullable<ServiceStatusRecord['steps']>;

/**
 * Returns the deployment status:
 * - NEVER_DEPLOYED: nothing is deployed and no deployment was attempted.
 * - OUT_OF_DATE: the deployed configuration is not the current one, because of a later edit or a failed deployment.
 * - UP_TO_DATE: all other cases.
 */
export function deploymentStatus(
  view: Pick<ServiceView, 'deployedConfigHash' | 'lastAttemptFailed'>,
  currentHash: string,
): ServiceStatusRecord['service_deployment_status'] {
  if (view.lastAttemptFailed) return 'OUT_OF_DATE';
  if (view.deployedConfigHash === null) return 'NEVER_DEPLOYED';
  return view.deployedConfigHash === currentHash ? 'UP_TO_DATE' : 'OUT_OF_DATE';
}

/** Returns the contract's status of a service. `currentHash`: hash of the current configuration. */
export function toServiceStatus(view: ServiceView, currentHash: string): ServiceStatusRecord {
  return {
    id: view.serviceId,
    state: view.state,
    service_deployment_status: deploymentStatus(view, currentHash),
    ...(view.lastDeploymentAt === null ? {} : { last_deployment_date: view.lastDeploymentAt }),
    is_part_last_deployment: view.isPartOfLastDeployment,
    ...(view.steps === null ? {} : { steps: toSteps(view.steps) }),
    ...(view.executionId === null ? {} : { execution_id: view.executionId }),
    status_details: { action: view.action, status: view.actionStatus, sub_action: subActionOf(view.terraformAction) },
    deployment_request_id: view.waitingRequestId,
    deployment_requests_count: view.waitingRequests,
    running_status: view.runningStatus,
    running_instances: view.runningInstances,
    wanted_instances: view.wantedInstances,
    conditions: view.conditions.map(toCondition),
    failure: view.failure === null ? null : toFailure(view.failure),
    release_id: view.deployedReleaseId,
  };
}

function toCondition({
  kind,
  severity,
  failure,
  instance,
  occurrences,
  since,
  seenAt,
}: ServiceView['conditions'][number]): NonNullable<ServiceStatusRecord['conditions']>[number] {
  return { kind, severity, ...toFailure(failure), instance, occurrences, since, last_seen_at: seenAt };
}

function toSteps({ details, totalMilliseconds }: NonNullable<ServiceView['steps']>): StepsRecord {
  const computing = details.filter((step) => !step.metric.endsWith('_QUEUEING'));
  return {
    total_duration_sec: totalMilliseconds === null ? null : seconds(totalMilliseconds),
    total_computing_duration_sec: seconds(computing.reduce((sum, step) => sum + step.durationMilliseconds, 0)),
    details: details.map(toStep),
  };
}

function toStep({ metric, status, durationMilliseconds }: StepView): StepsRecord['details'][number] {
  const name = stepNames.find((one) => one === metric);
  return {
    ...(name === undefined ? {} : { step_name: name }),
    status,
    duration_sec: seconds(durationMilliseconds),
    duration_ms: Math.round(durationMilliseconds),
  };
}

function seconds(milliseconds: number): number {
  return Math.round(milliseconds / 1000);
}
