import type { StreamData, StreamEvent } from '@davit/contract';
import {
  actionWord,
  deploymentState,
  type Action,
  type DeploymentLogLine,
  type HistoryServiceView,
  type BegunStepView,
  type DeploymentView,
  type EnginePort,
  type Origin,
  type Phase,
  type ServiceLogLine,
} from '@davit/engine/port';
import { errorLink, typeWord } from '../shared/engine-views.ts';
import type { EventRow } from './store.ts';

type Data = StreamData;

/** The deployment fact written by migration 0019. */
interface DeploymentFact {
  readonly execution_number: number | null;
  readonly action: Action;
  readonly status: Data['DEPLOYMENT']['status'];
  readonly canceling: boolean;
  readonly triggered_by: string;
  readonly origin: Origin;
  readonly build_failed: boolean;
}
interface QueueFact extends DeploymentFact {
  readonly change: Data['QUEUE']['change'];
}
interface ServiceFact {
  readonly execution_number: number | null;
  readonly action: Action;
  readonly phase: Phase;
  readonly service_type: string;
  readonly service_name: string;
  readonly failure: { readonly code: string; readonly message: string } | null;
}
interface StepFact {
  readonly execution_number: number | null;
  readonly step: string;
  readonly metric: Data['STEP']['step_name'];
  readonly status: Data['STEP']['status'];
  readonly attempt: number;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}

/** The condition fact written by migration 0036. */
type ConditionFact = Pick<
  Data['CONDITION'],
  'kind' | 'severity' | 'code' | 'message' | 'hint' | 'instance' | 'occurrences' | 'since'
>;

/** Returns an event in the format of server-sent events, ended by an empty line. JSON contains no line breaks. */
export function wire({ event, data }: StreamEvent, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Returns the line numbers that a log event covers. */
export function linesOf({ fact }: EventRow): readonly number[] {
  const { lines } = fact;
  return Array.isArray(lines) ? lines.map(Number) : [];
}

function placed(row: EventRow): { at: string; project_id: string; environment_id: string } {
  return { at: row.at, project_id: row.project_id, environment_id: row.environment_id };
}

function deployed(row: EventRow, number: unknown): { deployment_request_id: string; execution_id: string | null } {
  return {
    deployment_request_id: row.deployment_id ?? '',
    execution_id: typeof number === 'number' ? `${row.environment_id}-${number}` : null,
  };
}

/** Returns the event to send for a row. Not for logs: each of their lines is an event. */
export function toEvent(row: EventRow, engine: Pick<EnginePort, 'stateOf'>): StreamEvent {
  // One trigger writes the facts of each kind, so the kind determines the type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const fact = row.fact as unknown;
  const ids = { ...placed(row), ...deployed(row, row.fact['execution_number']) };
  switch (row.kind) {
    case 'QUEUE': {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const { change, action, triggered_by, origin } = fact as QueueFact;
      return { event: 'QUEUE', data: { ...ids, change, action: actionWord(action), triggered_by, origin } };
    }
    case 'DEPLOYMENT':
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return { event: 'DEPLOYMENT', data: { ...ids, ...deploymentOf(fact as DeploymentFact) } };
    case 'SERVICE_STATE': {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const service = serviceOf(fact as ServiceFact, engine);
      return { event: 'SERVICE_STATE', data: { ...ids, service_id: row.service_id ?? '', ...service } };
    }
    case 'STEP': {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const { step, metric, status, attempt, started_at, finished_at } = fact as StepFact;
      const times = { started_at: isoTime(started_at), finished_at: isoTime(finished_at) };
      return {
        event: 'STEP',
        data: { ...ids, service_id: row.service_id ?? '', step, step_name: metric, status, attempt, ...times },
      };
    }
    case 'RUNNING_STATUS': {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const { running_status } = fact as Pick<Data['RUNNING_STATUS'], 'running_status'>;
      return { event: 'RUNNING_STATUS', data: { ...placed(row), service_id: row.service_id ?? '', running_status } };
    }
    case 'CONDITION': {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const reported = fact as ConditionFact;
      const about = { link: errorLink(reported.code), since: isoTime(reported.since) ?? row.at };
      return { event: 'CONDITION', data: { ...placed(row), service_id: row.service_id ?? '', ...reported, ...about } };
    }
    default:
      throw new Error(`an event of kind ${row.kind} is told otherwise`);
  }
}

/** Converts a time inside a fact, which has PostgreSQL's JSON format. */
function isoTime(text: string | null): string | null {
  return text === null ? null : new Date(text).toISOString();
}

function deploymentOf(fact: DeploymentFact): Pick<Data['DEPLOYMENT'], 'state' | 'status' | 'action' | 'triggered_by' | 'origin'> {
  const { action, status, canceling, build_failed: buildFailed, triggered_by, origin } = fact;
  const state = canceling && status === 'RUNNING' ? 'CANCELING' : deploymentState(action, status, buildFailed);
  return { state, status, action: actionWord(action), triggered_by, origin };
}

function serviceOf(
  fact: ServiceFact,
  engine: Pick<EnginePort, 'stateOf'>,
): Pick<Data['SERVICE_STATE'], 'service_name' | 'service_type' | 'state' | 'action' | 'failure'> {
  const { action, phase, service_type, service_name, failure } = fact;
  return {
    service_name,
    service_type: typeWord(service_type),
    state: engine.stateOf(action, phase, service_type),
    action: actionWord(action),
    failure: failure === null ? null : { ...failure, link: errorLink(failure.code) },
  };
}

/** Identifies the service or deployment that a log belongs to. */
export interface LogScope {
  readonly projectId: string;
  readonly environmentId: string;
  readonly deploymentId: string | null;
  readonly executionId: string | null;
  readonly serviceId: string | null;
}

export function scopeOfRow(row: EventRow): LogScope {
  return {
    projectId: row.project_id,
    environmentId: row.environment_id,
    deploymentId: row.deployment_id,
    executionId: deployed(row, row.fact['execution_number']).execution_id,
    serviceId: row.service_id,
  };
}

/** A log line as an event. */
export type LineEvent = Extract<StreamEvent, { readonly event: 'DEPLOYMENT_LOG' | 'SERVICE_LOG' }>;

export function deploymentLine(scope: LogScope, line: DeploymentLogLine): LineEvent {
  return {
    event: 'DEPLOYMENT_LOG',
    data: {
      at: line.at,
      project_id: scope.projectId,
      environment_id: scope.environmentId,
      deployment_request_id: scope.deploymentId ?? '',
      execution_id: scope.executionId,
      service_id: line.service?.id ?? null,
      step: line.step,
      level: line.level,
      message: line.message,
    },
  };
}

export function serviceLine(scope: LogScope, line: ServiceLogLine): LineEvent {
  return {
    event: 'SERVICE_LOG',
    data: {
      at: line.at,
      project_id: scope.projectId,
      environment_id: scope.environmentId,
      service_id: scope.serviceId ?? '',
      id: line.id,
      message: line.message,
      pod_name: line.instance,
      version: line.releaseId,
      level: line.level,
    },
  };
}

/**
 * Returns the current state of a deployment, its services and the steps that have begun, for a stream that begins
 * during the deployment.
 */
export function presentState(view: DeploymentView, steps: readonly BegunStepView[], projectId: string): StreamEvent[] {
  const location = (at: string): { at: string; project_id: string; environment_id: string } => ({
    at,
    project_id: projectId,
    environment_id: view.environmentId,
  });
  const deployment = { deployment_request_id: view.deploymentId, execution_id: view.executionId };
  const toService = (service: HistoryServiceView): StreamEvent => ({
    event: 'SERVICE_STATE',
    data: {
      ...location(service.updatedAt),
      ...deployment,
      service_id: service.serviceId,
      service_name: service.name,
      service_type: typeWord(service.serviceType),
      state: service.state,
      action: service.action,
      failure:
        service.failure === null
          ? null
          : { code: service.failure.code, message: service.failure.message, link: errorLink(service.failure.code) },
    },
  });
  const { state, status, triggeredBy, origin } = view;
  const about = { state, status, action: actionWord(view.action), triggered_by: triggeredBy, origin };
  const whole: StreamEvent = { event: 'DEPLOYMENT', data: { ...location(view.updatedAt), ...deployment, ...about } };
  const toStep = ({ serviceId, name, metric, status, attempt, startedAt, finishedAt }: BegunStepView): StreamEvent => ({
    event: 'STEP',
    data: {
      ...location(finishedAt ?? startedAt),
      ...deployment,
      service_id: serviceId,
      step: name,
      step_name: metric,
      status,
      attempt,
      started_at: startedAt,
      finished_at: finishedAt,
    },
  });
  // A service is named before its steps, and its end is known after them.
  return [whole, ...view.services.map(toService), ...steps.map(toStep)];
}
