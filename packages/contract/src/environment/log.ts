import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Named, Nullable, Uuid, Words } from '../shape.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;

/** A line of the log of a deployment, with its failure if it has one. */
export const EnvironmentLog = Named(
  'EnvironmentLog',
  Type.Object({
    type: about('The level of the line.', Type.String()),
    timestamp: about('When it was written.', DateTime),
    details: Named(
      'EnvironmentLogDetails',
      Type.Object({
        organization_id: Type.Optional(about('The organization of the environment.', Uuid)),
        cluster_id: Type.Optional(about('The cluster of the environment.', Uuid)),
        execution_id: Type.Optional(about('The deployment: `<environment id>-<number>`.', Type.String())),
        transmitter: Type.Optional(
          about(
            'The service. Absent: the deployment as a whole.',
            Named(
              'LogTransmitter',
              Type.Object({
                id: Type.Optional(about('The `id` of the service.', Uuid)),
                name: Type.Optional(about('The name of the service.', Type.String())),
                type: Type.Optional(about('The type of the service.', Type.String())),
              }),
              'The service that a line is about.',
            ),
          ),
        ),
        stage: Type.Optional(
          Named(
            'LogStage',
            Type.Object({
              step: Type.Optional(about('The step that was running.', Type.String())),
              id: Type.Optional(about('The stage; null: none.', Nullable(Uuid))),
              name: Type.Optional(about('The name of the stage; null: none.', Nullable(Type.String()))),
            }),
            'The stage and the step of a line.',
          ),
        ),
      }),
      'What a line is about.',
    ),
    error: Type.Optional(
      about(
        'Why a service failed; null: no failure.',
        Nullable(
          Named(
            'EnvironmentLogError',
            Type.Object({
              tag: Type.Optional(about('The cause; `/docs/errors` lists all.', Type.String())),
              user_log_message: Type.Optional(about('What happened, for a person.', Type.String())),
              link: Type.Optional(about('The page that explains the cause.', Type.String())),
              hint_message: Type.Optional(about('What to do about it.', Type.String())),
              underlying_error: Type.Optional(
                Named(
                  'UnderlyingError',
                  Type.Object({
                    message: Type.Optional(about('The error message of the underlying program.', Type.String())),
                    full_details: Type.Optional(about('Exit code, probes, ports and last lines.', Type.String())),
                  }),
                  'What was observed at a failure.',
                ),
              ),
            }),
            'Why a service failed.',
          ),
        ),
      ),
    ),
    message: Type.Optional(
      about(
        'The text of the line.',
        Nullable(
          Named(
            'EnvironmentLogMessage',
            Type.Object({
              safe_message: Type.Optional(about('The text, without secrets.', Type.String())),
              full_details: Type.Optional(about('The same text, without secrets.', Type.String())),
            }),
            'The text of a line of the log.',
          ),
        ),
      ),
    ),
  }),
  'A line of the log of a deployment.',
);

export const listEnvironmentLogs = operation({
  id: 'listEnvironmentLogs',
  method: 'GET',
  path: `${at}/logs`,
  tag,
  summary: 'Read the log of a deployment',
  description: `
    Returns the newest 10,000 lines of one deployment, its builds included, oldest first, without secrets. What services print
    is in their own logs.
  `,
  scope: 'READ',
  target: 'environment',
  query: Type.Partial(
    Type.Object({
      version: about('The execution id of the deployment; by default the latest.', Type.String({ maxLength: 100 })),
    }),
  ),
  status: 200,
  response: Type.Array(EnvironmentLog),
  errors: [],
});
/** States in the older log. Deployments have other states by now. */
export const environmentLogStates = enumeration(
  'EnvironmentLogState',
  {
    CANCELED: 'It was canceled.',
    CANCELING: 'It is being canceled.',
    DELETED: 'It was deleted.',
    DELETE_ERROR: 'The deletion failed.',
    DELETE_IN_PROGRESS: 'It is being deleted.',
    DEPLOYED: 'It was deployed.',
    DEPLOYMENT_ERROR: 'The deployment failed.',
    DEPLOYMENT_IN_PROGRESS: 'It is being deployed.',
    ERROR: 'Something failed.',
    PAUSED: 'It was stopped.',
    PAUSE_ERROR: 'The stop failed.',
    PAUSE_IN_PROGRESS: 'It is being stopped.',
    WAITING: 'It waits for its turn.',
  },
  'A state in the older log.',
);

export const listEnvironmentLog = operation({
  id: 'listEnvironmentLog',
  method: 'GET',
  path: `${at}/log`,
  tag,
  summary: "Read the latest deployment's log, older form",
  description: `
    Returns the lines of the latest deployment, oldest first, with fewer fields than the path \`logs\`, which you should
    prefer.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: List(
    Named(
      'EnvironmentLogEntry',
      Type.Object({
        id: about('Identifies it; it never changes.', Uuid),
        created_at: about('When it was written.', DateTime),
        scope: Type.Optional(
          about(
            'What the line is about. Absent: nothing special.',
            Named(
              'EnvironmentLogScope',
              Type.Object({
                type: about(
                  'The type of the record.',
                  Words({
                    APPLICATION: 'A service that is no database.',
                    DATABASE: 'A database of the environment.',
                    ENVIRONMENT: 'The environment as a whole.',
                  }),
                ),
                name: about('The name of the record.', Type.String()),
                id: about('The `id` of the record.', Uuid),
              }),
              'What a line is about.',
            ),
          ),
        ),
        state: Type.Optional(about('The state at that time.', Words(environmentLogStates))),
        message: about('The text of the line; null: none.', Nullable(Type.String())),
        execution_id: Type.Optional(about('The deployment: `<environment id>-<number>`.', Type.String())),
        hint: Type.Optional(about('What to do about a failure. Absent: no failure.', Type.String())),
      }),
      'A line of the older log.',
    ),
  ),
  errors: [],
});
