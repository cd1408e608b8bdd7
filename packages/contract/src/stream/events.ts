import Type, { type Static } from 'typebox';
import { DateTime, Nullable, Uuid, Words, Named } from '../shape.ts';
import {
  actions,
  conditionKinds,
  conditionSeverities,
  logLevels,
  origins,
  runningStatuses,
  serviceStates,
  serviceTypes,
  stepNames,
} from '../shared/words.ts';

/** Time and location of an event: fields that all events share. */
const location = {
  at: DateTime,
  project_id: Uuid,
  environment_id: Uuid,
};
const deployment = {
  deployment_request_id: Uuid,
  /** null while the request is still in the queue. */
  execution_id: Nullable(Type.String()),
};

/** Events of a stream, keyed by the values of the query parameter `kinds`. */
export const streamEvents = {
  /**
   * The state of an environment at the time of sending, sent once for each change in the environment. The event has no
   * id. DELETED: the environment no longer exists.
   */
  ENVIRONMENT_STATE: Type.Object({
    ...location,
    state: Words(serviceStates),
    last_deployment_state: Words(serviceStates),
  }),
  /** The state of a service changes during a deployment. */
  SERVICE_STATE: Type.Object({
    ...location,
    ...deployment,
    service_id: Uuid,
    service_name: Type.String(),
    service_type: Words(serviceTypes),
    state: Words(serviceStates),
    action: Words(actions),
    failure: Nullable(
      Named('ServiceStateFailure', Type.Object({ code: Type.String(), message: Type.String(), link: Type.String() })),
    ),
  }),
  /** The running status of a service's instances; null if there are none or their status is unknown. */
  RUNNING_STATUS: Type.Object({ ...location, service_id: Uuid, running_status: Nullable(Words(runningStatuses)) }),
  /** A problem of a deployed service is observed, observed again, or over (severity null). */
  CONDITION: Type.Object({
    ...location,
    service_id: Uuid,
    kind: Words(conditionKinds),
    severity: Nullable(Words(conditionSeverities)),
    code: Type.String(),
    message: Type.String(),
    hint: Type.String(),
    link: Type.String(),
    instance: Nullable(Type.String()),
    occurrences: Type.Integer(),
    since: DateTime,
  }),
  /** A deployment request enters the queue of its environment, leaves it for a deployment, or is withdrawn. */
  QUEUE: Type.Object({
    ...location,
    ...deployment,
    change: Words(['QUEUED', 'STARTED', 'WITHDRAWN']),
    action: Words(actions),
    triggered_by: Type.String(),
    origin: Words(origins),
  }),
  /** A deployment starts, is being canceled, or ends. */
  DEPLOYMENT: Type.Object({
    ...location,
    ...deployment,
    state: Words(serviceStates),
    status: Words(['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'WITHDRAWN']),
    action: Words(actions),
    triggered_by: Type.String(),
    origin: Words(origins),
  }),
  /** A step of a service in a deployment begins or ends. */
  STEP: Type.Object({
    ...location,
    ...deployment,
    service_id: Uuid,
    step: Type.String(),
    /** The name that status records use for the phase to which this step belongs. */
    step_name: Words(stepNames),
    status: Words(['RUNNING', 'DONE', 'SKIPPED', 'FAILED', 'CANCELED', 'PENDING']),
    attempt: Type.Integer(),
    started_at: Nullable(DateTime),
    finished_at: Nullable(DateTime),
  }),
  /** A line of a deployment's log. `service_id` is null for lines that concern the whole deployment. */
  DEPLOYMENT_LOG: Type.Object({
    ...location,
    ...deployment,
    service_id: Nullable(Uuid),
    step: Type.String(),
    level: Words(['INFO', 'WARNING', 'ERROR']),
    message: Type.String(),
  }),
  /** A line that a service printed. */
  SERVICE_LOG: Type.Object({
    ...location,
    service_id: Uuid,
    id: Uuid,
    message: Type.String(),
    pod_name: Type.String(),
    version: Nullable(Type.String()),
    /** The level that the line names; null if it names none. */
    level: Nullable(Words(logLevels)),
  }),
} as const;

/** Control events: events about the stream itself. */
export const streamControls = {
  /** The first event. The stream sends every event from here on. */
  OPEN: Type.Object({
    /** True if the stream resumes after the `Last-Event-ID`, false if it starts anew. */
    resumed: Type.Boolean(),
  }),
  /**
   * The events between the `Last-Event-ID` and now are no longer stored. The client must read all states again; the
   * stream continues with new events.
   */
  RESET: Type.Object({ message: Type.String() }),
  /** The last event. `resume`: whether the client should reconnect with the last event id. */
  END: Type.Object({ code: Type.String(), message: Type.String(), resume: Type.Boolean() }),
} as const;

export type StreamKind = keyof typeof streamEvents;
export const streamKinds: readonly StreamKind[] = Object.keys(streamEvents).filter(isStreamKind);

function isStreamKind(name: string): name is StreamKind {
  return Object.hasOwn(streamEvents, name);
}

export type StreamData = { readonly [Kind in StreamKind]: Static<(typeof streamEvents)[Kind]> };
export type StreamControlData = { readonly [Name in keyof typeof streamControls]: Static<(typeof streamControls)[Name]> };

type EventOf<Data> = { readonly [Name in keyof Data]: { readonly event: Name; readonly data: Data[Name] } }[keyof Data];

/** One event of a stream. */
export type StreamEvent = EventOf<StreamData> | EventOf<StreamControlData>;
