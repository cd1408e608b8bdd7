import Type, { type Static } from 'typebox';
import { DateTime, Nullable, Uuid, Words } from '../shape.ts';
import {
  actions,
  conditionKinds,
  conditionSeverities,
  origins,
  runningStatuses,
  serviceStates,
  serviceTypes,
  stepNames,
} from '../shared/words.ts';

/** Where and when something happened; beside what an event tells itself. */
const place = {
  at: DateTime,
  project_id: Uuid,
  environment_id: Uuid,
};
const deployment = {
  deployment_request_id: Uuid,
  /** null: it waits still. */
  execution_id: Nullable(Type.String()),
};

/** What a stream can tell, by the words of the query `kinds`. */
export const streamEvents = {
  /** Told as it is when it is sent, once for each time that something in it changed; has no id. DELETED: it is gone. */
  ENVIRONMENT_STATE: Type.Object({
    ...place,
    state: Words(serviceStates),
    last_deployment_state: Words(serviceStates),
  }),
  /** A service goes on in a deployment. */
  SERVICE_STATE: Type.Object({
    ...place,
    ...deployment,
    service_id: Uuid,
    service_name: Type.String(),
    service_type: Words(serviceTypes),
    state: Words(serviceStates),
    action: Words(actions),
    failure: Nullable(Type.Object({ code: Type.String(), message: Type.String(), link: Type.String() })),
  }),
  /** What the instances of a service do; null: none, or nobody knows. */
  RUNNING_STATUS: Type.Object({ ...place, service_id: Uuid, running_status: Nullable(Words(runningStatuses)) }),
  /** Something wrong with a service that is deployed is observed, observed again, or over (severity null). */
  CONDITION: Type.Object({
    ...place,
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
  /** A request comes into the queue of its environment, leaves it for a deployment, or is taken back. */
  QUEUE: Type.Object({
    ...place,
    ...deployment,
    change: Words(['QUEUED', 'STARTED', 'WITHDRAWN']),
    action: Words(actions),
    triggered_by: Type.String(),
    origin: Words(origins),
  }),
  /** A deployment starts, is being canceled, or ends. */
  DEPLOYMENT: Type.Object({
    ...place,
    ...deployment,
    state: Words(serviceStates),
    status: Words(['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'WITHDRAWN']),
    action: Words(actions),
    triggered_by: Type.String(),
    origin: Words(origins),
  }),
  /** A step of a service in a deployment begins or ends. */
  STEP: Type.Object({
    ...place,
    ...deployment,
    service_id: Uuid,
    step: Type.String(),
    /** Of status records, where the step counts as part of it. */
    step_name: Words(stepNames),
    status: Words(['RUNNING', 'DONE', 'SKIPPED', 'FAILED', 'CANCELED', 'PENDING']),
    attempt: Type.Integer(),
    started_at: Nullable(DateTime),
    finished_at: Nullable(DateTime),
  }),
  /** A line of a deployment's log. service_id: null for what concerns all of it. */
  DEPLOYMENT_LOG: Type.Object({
    ...place,
    ...deployment,
    service_id: Nullable(Uuid),
    step: Type.String(),
    level: Words(['INFO', 'WARNING', 'ERROR']),
    message: Type.String(),
  }),
  /** A line that a service printed. */
  SERVICE_LOG: Type.Object({
    ...place,
    service_id: Uuid,
    id: Uuid,
    message: Type.String(),
    pod_name: Type.String(),
    version: Nullable(Type.String()),
  }),
} as const;

/** What a stream says of itself. */
export const streamControls = {
  /** The first event: from here on everything is told. */
  OPEN: Type.Object({
    /** Whether it goes on behind the `Last-Event-ID`; else it begins anew. */
    resumed: Type.Boolean(),
  }),
  /** What was between the `Last-Event-ID` and now is not known any more: read states anew; the stream goes on with what comes. */
  RESET: Type.Object({ message: Type.String() }),
  /** The last event. `resume`: whether it makes sense to come back with the last id. */
  END: Type.Object({ code: Type.String(), message: Type.String(), resume: Type.Boolean() }),
} as const;

export type StreamKind = keyof typeof streamEvents;
export const streamKinds: readonly StreamKind[] = Object.keys(streamEvents).filter(isStreamKind);

function isStreamKind(name: string): name is StreamKind {
  return Object.hasOwn(streamEvents, name);
}

export type StreamData = { readonly [Kind in StreamKind]: Static<(typeof streamEvents)[Kind]> };
export type StreamControlData = { readonly [Name in keyof typeof streamControls]: Static<(typeof streamControls)[Name]> };

type Named<Data> = { readonly [Name in keyof Data]: { readonly event: Name; readonly data: Data[Name] } }[keyof Data];

/** One event of a stream. */
export type StreamEvent = Named<StreamData> | Named<StreamControlData>;
