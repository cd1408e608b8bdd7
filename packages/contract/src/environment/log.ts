import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid } from '../shape.ts';

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
