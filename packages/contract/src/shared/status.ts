import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import { ChangedSinceSuccess } from './release.ts';
import {
  actions,
  actionStatuses,
  conditionKinds,
  conditionSeverities,
  deploymentStatuses,
  origins,
  runningStatuses,
  serviceStates,
  stepNames,
  stepStatuses,
  subActions,
} from './deployment-words.ts';

/* Shapes of the status of a service and of an environment. */

export const StatusDetails = Named(
  'StatusDetails',
  Type.Object({
    action: about('The latest action; UNKNOWN before the first one.', Words(actions)),
    status: Words(actionStatuses),
    sub_action: about('What it does, for Terraform; otherwise NONE.', Words(subActions, { default: 'NONE' })),
  }),
  'The latest action on a service.',
);

const Fault = Type.Object({
  code: about('The cause, for programs; `/docs/errors` lists all.', Type.String()),
  message: about('What happened, for a person.', Type.String()),
  hint: about('What to do about it.', Type.String()),
  link: about('The page that explains the code.', Type.String()),
  evidence: Named(
    'FailureEvidence',
    Type.Object({
      lines: Type.Optional(about('The last lines that were printed.', Type.Array(Type.String()))),
      exit: Type.Optional(
        Named(
          'FailureExit',
          Type.Object({
            code: about('The exit code of the process.', Type.Integer()),
            out_of_memory: about('Whether it was killed because it used too much memory.', Type.Boolean()),
          }),
          'The end of a process.',
        ),
      ),
      probe: Type.Optional(about('The attempts of the probe.', Type.Array(Type.String()))),
      listening: Type.Optional(about('The ports at which processes listen.', Type.Array(Type.String()))),
      original: Type.Optional(about('The error message of the underlying program.', Type.String())),
    }),
    'What was observed. Each field is present only if it applies.',
  ),
});

/** The reason why a deployment of a service failed, and how to fix it. An addition to the contract's fields. */
export const Failure = Named(
  'DeploymentFailure',
  Type.Object({
    ...Fault.properties,
    changed_since_success: Type.Optional(
      about(
        'What changed since the service last worked. null: it never worked. Absent: no release was deployed.',
        Nullable(ChangedSinceSuccess),
      ),
    ),
  }),
  'Why it failed, and how to fix it.',
);

/** A problem that is observed after a service was deployed. An addition to the contract's fields. */
const Condition = Named(
  'ServiceCondition',
  Type.Object({
    kind: Words(conditionKinds),
    severity: Words(conditionSeverities),
    ...Fault.properties,
    instance: about('The instance concerned; null: the service as a whole.', Nullable(Type.String())),
    occurrences: about('How often it was observed.', Type.Integer()),
    since: about('When it was first observed.', DateTime),
    last_seen_at: about('When it was last observed.', DateTime),
  }),
  'A problem of a deployed service, from its observation until it is cleared.',
);

const Steps = Named(
  'ServiceStepMetrics',
  Type.Object({
    total_duration_sec: about('Seconds in total; null until it has ended.', Nullable(Type.Integer())),
    total_computing_duration_sec: about('Seconds without the time of waiting.', Type.Integer()),
    details: about(
      'The steps, in their order.',
      Type.Array(
        Named(
          'ServiceStepMetric',
          Type.Object({
            step_name: Type.Optional(Words(stepNames)),
            status: Type.Optional(Words(stepStatuses)),
            duration_sec: Type.Optional(about('Its duration in whole seconds.', Type.Integer())),
            duration_ms: Type.Optional(about('Its duration in milliseconds.', Type.Integer())),
          }),
          'The time of one step.',
        ),
      ),
    ),
  }),
  'How long the steps of the latest deployment took.',
);

/**
 * The status of a service. The fields about running, `failure` and `release_id` are additions to the contract's fields.
 */
export const ServiceStatus = Named(
  'ServiceStatus',
  Type.Object({
    id: about('The `id` of the service.', Uuid),
    state: about('The state by the latest action, waiting ones included.', Words(serviceStates)),
    service_deployment_status: about('Whether the current configuration is deployed.', Words(deploymentStatuses)),
    last_deployment_date: Type.Optional(about('When it was last deployed. Absent if it never was.', DateTime)),
    is_part_last_deployment: about('Whether the latest deployment of the environment concerned it.', Type.Boolean()),
    steps: Type.Optional(about('The steps of its latest deployment. Absent before the first.', Steps)),
    execution_id: Type.Optional(about('The latest deployment: `<environment id>-<number>`. Absent before it.', Type.String())),
    status_details: StatusDetails,
    deployment_request_id: about(
      'The next waiting request for it; in the answer to an action, its own. null: none.',
      Nullable(Uuid),
    ),
    deployment_requests_count: about('How many requests that concern it wait in the queue.', Type.Integer()),
    running_status: Type.Optional(
      about('How its instances are; null while nothing is deployed.', Nullable(Words(runningStatuses))),
    ),
    running_instances: Type.Optional(about('How many instances are ready; null: unknown.', Nullable(Type.Integer()))),
    wanted_instances: Type.Optional(
      about('How many there should be; scaling changes it. null: nothing is deployed.', Nullable(Type.Integer())),
    ),
    failure: Type.Optional(about('Why the latest action failed; null if it did not.', Nullable(Failure))),
    conditions: Type.Optional(about('Its open problems, observed since the deployment.', Type.Array(Condition))),
    release_id: Type.Optional(about('The deployed release; null: none.', Nullable(Uuid))),
  }),
  'The status of one service: its latest action, and how its instances are now.',
);

/** Fields of a service's status that some answers about an environment have, too. */
export const DeployedEnvironmentAsService = Named(
  'DeployedEnvironmentAsService',
  Type.Omit(ServiceStatus, ['last_deployment_date', 'deployment_request_id']),
  `Fields of a service's status in an answer about an environment.`,
);

export const EnvironmentStatus = Named(
  'EnvironmentStatus',
  Type.Object({
    id: about('The `id` of the environment.', Uuid),
    state: about('The state by the deployments of its services.', Words(serviceStates)),
    last_deployment_date: Type.Optional(about('When it was last deployed. Absent: never.', Nullable(DateTime))),
    last_deployment_state: about(
      'The waiting or running deployment, otherwise the result of the last. Wait for this.',
      Words(serviceStates),
    ),
    last_deployment_id: Type.Optional(
      about('The latest deployment: `<environment id>-<number>`; null: none.', Nullable(Type.String())),
    ),
    total_deployment_duration_in_seconds: Type.Optional(
      about('Seconds that the latest deployment took; null: it runs, or there was none.', Nullable(Type.Integer())),
    ),
    origin: Type.Optional(about('From where the latest deployment was requested; null: none.', Nullable(Words(origins)))),
    triggered_by: Type.Optional(about('Who requested the latest deployment; null: none.', Nullable(Type.String()))),
    deployment_status: Type.Optional(about('OUT_OF_DATE if a service that is not skipped is.', Words(deploymentStatuses))),
    deployment_request_id: Type.Optional(
      about('The next waiting request; in the answer to an action, its own. null: none.', Nullable(Uuid)),
    ),
  }),
  'The status of an environment as a whole.',
);
