import Type, { type Static } from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import {
  actions,
  conditionKinds,
  conditionSeverities,
  origins,
  runningStatuses,
  serviceStates,
  stepNames,
} from '../shared/deployment-words.ts';
import { logLevels, serviceTypes } from '../shared/words.ts';

/** Time and location of an event: fields that all events share. */
const location = {
  at: about('When it happened.', DateTime),
  project_id: about('The project of the environment.', Uuid),
  environment_id: about('The environment concerned.', Uuid),
};
const deployment = {
  deployment_request_id: about('The `id` of the request.', Uuid),
  /** null while the request is still in the queue. */
  execution_id: about('The deployment; null while the request waits.', Nullable(Type.String())),
};

/** Events of a stream, keyed by the values of the query parameter `kinds`. */
export const streamEvents = {
  ENVIRONMENT_STATE: about(
    'The state of an environment when it is sent, after something changed in it. It has no id. DELETED: it is gone.',
    Type.Object({
      ...location,
      state: about('The state by the deployments of its services.', Words(serviceStates)),
      last_deployment_state: about('The waiting or running deployment, else the last.', Words(serviceStates)),
    }),
  ),
  SERVICE_STATE: about(
    'The state of a service changed in a deployment.',
    Type.Object({
      ...location,
      ...deployment,
      service_id: about('The `id` of the service.', Uuid),
      service_name: about('The name of the service.', Type.String()),
      service_type: Words(serviceTypes),
      state: about('The new state of the service.', Words(serviceStates)),
      action: Words(actions),
      failure: about(
        'Why it failed; null if it did not.',
        Nullable(
          Named(
            'ServiceStateFailure',
            Type.Object({
              code: about('The cause, for programs.', Type.String()),
              message: about('What happened, for a person.', Type.String()),
              link: about('The page that explains the code.', Type.String()),
            }),
            'Why a service failed.',
          ),
        ),
      ),
    }),
  ),
  RUNNING_STATUS: about(
    'The state of the instances of a service changed.',
    Type.Object({
      ...location,
      service_id: about('The `id` of the service.', Uuid),
      running_status: about('How its instances are; null: none, or unknown.', Nullable(Words(runningStatuses))),
    }),
  ),
  CONDITION: about(
    'A problem of a deployed service was observed, observed again, or is over.',
    Type.Object({
      ...location,
      service_id: about('The `id` of the service.', Uuid),
      kind: Words(conditionKinds),
      severity: about('Whether the service works; null: the problem is over.', Nullable(Words(conditionSeverities))),
      code: about('The cause, for programs.', Type.String()),
      message: about('What happened, for a person.', Type.String()),
      hint: about('What to do about it.', Type.String()),
      link: about('The page that explains the code.', Type.String()),
      instance: about('The instance concerned; null: the service as a whole.', Nullable(Type.String())),
      occurrences: about('How often it was observed.', Type.Integer()),
      since: about('When it was first observed.', DateTime),
    }),
  ),
  QUEUE: about(
    'A request entered the queue of its environment, left it, or was withdrawn.',
    Type.Object({
      ...location,
      ...deployment,
      change: about(
        'What happened to the request.',
        Words({ QUEUED: 'It entered the queue.', STARTED: 'It became a deployment.', WITHDRAWN: 'It was withdrawn.' }),
      ),
      action: about('The requested action.', Words(actions)),
      triggered_by: about('The name of the person or API token.', Type.String()),
      origin: Words(origins),
    }),
  ),
  DEPLOYMENT: about(
    'A deployment started, is being canceled, or ended.',
    Type.Object({
      ...location,
      ...deployment,
      state: about('The state of the deployment.', Words(serviceStates)),
      status: about(
        'How far the deployment is.',
        Words({
          QUEUED: 'It waits in the queue.',
          RUNNING: 'It is running.',
          SUCCEEDED: 'It succeeded.',
          FAILED: 'A service failed.',
          CANCELED: 'It was canceled.',
          WITHDRAWN: 'It was withdrawn.',
        }),
      ),
      action: Words(actions),
      triggered_by: about('The name of the person or API token.', Type.String()),
      origin: Words(origins),
    }),
  ),
  STEP: about(
    'A step of a service began or ended.',
    Type.Object({
      ...location,
      ...deployment,
      service_id: about('The `id` of the service.', Uuid),
      step: about('The step of the engine.', Type.String()),
      /** The name that status records use for the phase to which this step belongs. */
      step_name: Words(stepNames),
      status: about(
        'How far the step is.',
        Words({
          RUNNING: 'It is running.',
          DONE: 'It succeeded.',
          SKIPPED: 'It was not needed.',
          FAILED: 'The step failed.',
          CANCELED: 'It was canceled.',
          PENDING: 'It has not begun, or is tried again.',
        }),
      ),
      attempt: about('The number of the attempt, from 1.', Type.Integer()),
      started_at: about('When it began; null: not yet.', Nullable(DateTime)),
      finished_at: about('When it ended; null: not yet.', Nullable(DateTime)),
    }),
  ),
  DEPLOYMENT_LOG: about(
    'A line of the log of a deployment.',
    Type.Object({
      ...location,
      ...deployment,
      service_id: about('The service; null: the deployment as a whole.', Nullable(Uuid)),
      step: about('The step that was running.', Type.String()),
      level: about(
        'How severe the line is.',
        Words({ INFO: 'Nothing is wrong.', WARNING: 'Needs attention.', ERROR: 'Something failed.' }),
      ),
      message: about('The text of the line, without secrets.', Type.String()),
    }),
  ),
  SERVICE_LOG: about(
    'A line that a service printed.',
    Type.Object({
      ...location,
      service_id: about('The `id` of the service.', Uuid),
      id: about('Identifies the line.', Uuid),
      message: about('The text of the line, without secrets.', Type.String()),
      pod_name: about('The instance that printed it; `davit`: Davit itself.', Type.String()),
      level: about('The level that the line names; null if it names none.', Nullable(Words(logLevels))),
      version: about('The release that ran; null: unknown.', Nullable(Type.String())),
    }),
  ),
} as const;

/** Control events: events about the stream itself. */
export const streamControls = {
  OPEN: about(
    'The first event: every event from here on is sent.',
    Type.Object({
      /** True if the stream resumes after the `Last-Event-ID`, false if it starts anew. */
      resumed: about('Whether the stream goes on after the `Last-Event-ID`.', Type.Boolean()),
    }),
  ),
  RESET: about(
    'Events since the `Last-Event-ID` are no longer stored: read all states again.',
    Type.Object({ message: about('Why events are missing.', Type.String()) }),
  ),
  END: about(
    'The last event of the stream.',
    Type.Object({
      code: about('Why the stream ends: DONE, TOO_SLOW, SERVER_STOPPING or an error code.', Type.String()),
      message: about('Why the stream ends, for a person.', Type.String()),
      resume: about('Whether to reconnect with the last id.', Type.Boolean()),
    }),
  ),
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
