import type { operations, Response } from '@davit/contract';
import type * as engine from '@davit/engine/port';
import { auditing, errorLink, isoDuration, toHistoryService, subActionOf } from '../shared/engine-views.ts';

type EnvironmentHistory = Response<(typeof operations)['listEnvironmentDeploymentHistoryV2']>;
type HistoryEntry = EnvironmentHistory['results'][number];
type StageStatus = HistoryEntry['stages'][number]['status'];
type EnvironmentQueueEntry = Response<(typeof operations)['listDeploymentRequestByEnvironmentId']>['results'][number];
type ServiceQueueEntry = Response<(typeof operations)['listDeploymentRequestByServiceId']>['results'][number];
type EnvironmentLog = Response<(typeof operations)['listEnvironmentLogs']>[number];

interface Stage<Service> {
  readonly name: string;
  readonly services: readonly Service[];
}

function stagesOf<Service extends { readonly stage: { readonly name: string; readonly position: number } }>(
  services: readonly Service[],
): Stage<Service>[] {
  const byPosition = Map.groupBy(services, ({ stage }) => stage.position);
  return [...byPosition.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, members]) => ({ name: members[0]?.stage.name ?? '', services: members }));
}

export function stageStatus(services: readonly engine.HistoryServiceView[]): StageStatus {
  const has = (...phases: readonly engine.Phase[]): boolean => services.some(({ phase }) => phases.includes(phase));
  if (has('BUILDING', 'WORKING', 'CANCELING')) return 'ONGOING';
  if (has('FAILED', 'BUILD_FAILED')) return 'ERROR';
  if (has('QUEUED', 'WAITING')) return has('SUCCEEDED') ? 'ONGOING' : 'QUEUED';
  return has('CANCELED') ? 'CANCELED' : 'DONE';
}

const deploymentWords: Readonly<Record<engine.DeploymentView['status'], HistoryEntry['action_status']>> = {
  QUEUED: 'QUEUED',
  RUNNING: 'ONGOING',
  SUCCEEDED: 'SUCCESS',
  FAILED: 'ERROR',
  CANCELED: 'CANCELED',
  WITHDRAWN: 'CANCELED',
};

export function toEnvironmentHistory(view: engine.DeploymentView): HistoryEntry {
  return {
    identifier: { execution_id: view.executionId ?? '', environment_id: view.environmentId },
    auditing_data: auditing(view),
    status: view.state,
    trigger_action: view.action,
    total_duration: isoDuration(view.totalMilliseconds),
    action_status: view.canceling ? 'CANCELING' : deploymentWords[view.status],
    stages: stagesOf(view.services).map(({ name, services }) => ({
      name,
      status: stageStatus(services),
      duration: isoDuration(stageMilliseconds(services)),
      services: services.map(toHistoryService),
    })),
  };
}

// The services of a stage are deployed in parallel, so the duration of the stage is that of the slowest service.
export function stageMilliseconds(services: readonly engine.HistoryServiceView[]): number {
  return Math.max(0, ...services.map(({ totalMilliseconds }) => totalMilliseconds));
}

export function toEnvironmentQueueEntry(view: engine.DeploymentView): EnvironmentQueueEntry {
  return {
    identifier: { deployment_request_id: view.deploymentId, environment_id: view.environmentId },
    auditing_data: { triggered_by: view.triggeredBy, origin: view.origin },
    trigger_action: view.action,
    stages: stagesOf(view.services).map(({ name, services }) => ({
      name,
      status: 'QUEUED',
      services: services.map((service) => ({
        identifier: toHistoryService(service).identifier,
        status: 'QUEUED',
        icon_uri: service.iconUri,
      })),
    })),
  };
}

export function toServiceQueueEntries(view: engine.DeploymentView, serviceId: string): ServiceQueueEntry[] {
  return view.services
    .filter((service) => service.serviceId === serviceId.toLowerCase())
    .map((service) => ({
      identifier: {
        deployment_request_id: view.deploymentId,
        service_id: service.serviceId,
        service_type: toHistoryService(service).identifier.service_type,
        name: service.name,
      },
      auditing_data: { triggered_by: view.triggeredBy, origin: view.origin },
      status_details: { action: service.action, status: service.actionStatus, sub_action: subActionOf(service.terraformAction) },
      icon_uri: service.iconUri,
    }));
}

/** The ids that every line of a log repeats. */
export interface LogIds {
  readonly organizationId: string;
  readonly clusterId: string;
  readonly executionId: string | null;
}

export function toEnvironmentLog(line: engine.DeploymentLogLine, ids: LogIds): EnvironmentLog {
  const { failure } = line;
  return {
    type: line.level,
    timestamp: line.at,
    details: {
      organization_id: ids.organizationId,
      cluster_id: ids.clusterId,
      ...(ids.executionId === null ? {} : { execution_id: ids.executionId }),
      ...(line.service === null ? {} : { transmitter: line.service }),
      stage: { step: line.step, id: line.stage?.id ?? null, name: line.stage?.name ?? null },
    },
    error:
      failure === null
        ? null
        : {
            tag: failure.code,
            user_log_message: failure.message,
            link: errorLink(failure.code),
            hint_message: failure.hint,
            underlying_error: { message: failure.evidence.original ?? failure.message, full_details: evidenceText(failure) },
          },
    message: { safe_message: line.message, full_details: line.message },
  };
}

function evidenceText({ evidence }: engine.FailureRecord): string {
  const { lines = [], probe = [], listening = [], exit } = evidence;
  return [
    ...(exit === undefined ? [] : [`exit code ${exit.code}${exit.outOfMemory ? ', out of memory' : ''}`]),
    ...probe.map((attempt) => `probe: ${attempt}`),
    ...(listening.length === 0 ? [] : [`listening: ${listening.join(', ')}`]),
    ...lines,
  ].join('\n');
}
