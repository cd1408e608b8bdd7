import Type from 'typebox';
import { about, DateTime, Nullable, Uuid, Words, Named } from '../shape.ts';
import { ChangedSinceSuccess } from './release.ts';
import * as words from './words.ts';

export const StatusDetails = Named(
  'StatusDetails',
  Type.Object({
    action: Words(words.actions),
    status: Words(words.actionStatuses),
    sub_action: Words(words.subActions, { default: 'NONE' }),
  }),
);

const Fault = Type.Object({
  code: Type.String(),
  message: Type.String(),
  hint: Type.String(),
  link: Type.String(),
  evidence: Named(
    'FailureEvidence',
    Type.Object({
      lines: Type.Optional(Type.Array(Type.String())),
      exit: Type.Optional(Named('FailureExit', Type.Object({ code: Type.Integer(), out_of_memory: Type.Boolean() }))),
      probe: Type.Optional(Type.Array(Type.String())),
      listening: Type.Optional(Type.Array(Type.String())),
      original: Type.Optional(Type.String()),
    }),
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
);

/** A problem that is observed after a service was deployed. An addition to the contract's fields. */
export const Condition = Named(
  'ServiceCondition',
  Type.Object({
    kind: Words(words.conditionKinds),
    severity: Words(words.conditionSeverities),
    ...Fault.properties,
    instance: Nullable(Type.String()),
    occurrences: Type.Integer(),
    since: DateTime,
    last_seen_at: DateTime,
  }),
);

export const Steps = Named(
  'ServiceStepMetrics',
  Type.Object({
    total_duration_sec: Nullable(Type.Integer()),
    total_computing_duration_sec: Type.Integer(),
    details: Type.Array(
      Named(
        'ServiceStepMetric',
        Type.Object({
          step_name: Type.Optional(Words(words.stepNames)),
          status: Type.Optional(Words(words.stepStatuses)),
          duration_sec: Type.Optional(Type.Integer()),
          duration_ms: Type.Optional(Type.Integer()),
        }),
      ),
    ),
  }),
);

/**
 * The status of a service. The fields about running, `failure` and `release_id` are additions to the contract's fields.
 */
export const ServiceStatus = Named(
  'ServiceStatus',
  Type.Object({
    id: Uuid,
    state: Words(words.serviceStates),
    service_deployment_status: Words(words.deploymentStatuses),
    last_deployment_date: Type.Optional(DateTime),
    is_part_last_deployment: Type.Boolean(),
    steps: Type.Optional(Steps),
    execution_id: Type.Optional(Type.String()),
    status_details: StatusDetails,
    deployment_request_id: Nullable(Uuid),
    deployment_requests_count: Type.Integer(),
    running_status: Type.Optional(Nullable(Words(words.runningStatuses))),
    running_instances: Type.Optional(Nullable(Type.Integer())),
    wanted_instances: Type.Optional(Nullable(Type.Integer())),
    failure: Type.Optional(Nullable(Failure)),
    conditions: Type.Optional(Type.Array(Condition)),
    release_id: Type.Optional(Nullable(Uuid)),
  }),
);

export const EnvironmentStatus = Named(
  'EnvironmentStatus',
  Type.Object({
    id: Uuid,
    state: Words(words.serviceStates),
    last_deployment_date: Type.Optional(Nullable(DateTime)),
    last_deployment_state: Words(words.serviceStates),
    last_deployment_id: Type.Optional(Nullable(Type.String())),
    total_deployment_duration_in_seconds: Type.Optional(Nullable(Type.Integer())),
    origin: Type.Optional(Nullable(Words(words.origins))),
    triggered_by: Type.Optional(Nullable(Type.String())),
    deployment_status: Type.Optional(Words(words.deploymentStatuses)),
    deployment_request_id: Type.Optional(Nullable(Uuid)),
  }),
);

export const AuditingData = Named(
  'AuditingData',
  Type.Object({
    created_at: DateTime,
    updated_at: DateTime,
    triggered_by: Type.String(),
    origin: Words(words.origins),
  }),
);

export const Commit = Named(
  'Commit',
  Type.Object({
    created_at: DateTime,
    git_commit_id: Type.String(),
    tag: Type.String(),
    message: Type.String(),
    author_name: Type.String(),
    author_avatar_url: Type.Optional(Type.String()),
    commit_page_url: Type.Optional(Type.String()),
  }),
);

const Command = Named(
  'DeployedCommand',
  Type.Object({ arguments: Type.Array(Type.String()), entrypoint: Type.Optional(Type.String()) }),
);

/** Details of a deployment; the fields depend on the type of its service. */
export const HistoryDetails = Named(
  'DeploymentHistoryDetails',
  Type.Union([
    Named(
      'JobDeploymentDetails',
      Type.Object({
        image_name: Type.String(),
        tag: Type.String(),
        commit: Nullable(Commit),
        schedule: Named(
          'DeployedSchedule',
          Type.Object({
            on_start: Type.Optional(Command),
            on_stop: Type.Optional(Command),
            on_delete: Type.Optional(Command),
            cron_job: Type.Optional(
              Named('DeployedCron', Type.Object({ ...Command.properties, scheduled_at: Type.String(), timezone: Type.String() })),
            ),
          }),
        ),
        job_type: Words(['CRON', 'LIFECYCLE'] as const),
        build_pod_name: Type.String(),
      }),
    ),
    Named(
      'ContainerDeploymentDetails',
      Type.Object({
        image_name: Type.String(),
        tag: Type.String(),
        arguments: Type.Array(Type.String()),
        entrypoint: Type.Optional(Type.String()),
      }),
    ),
    Named(
      'HelmDeploymentDetails',
      Type.Object({
        commit: Nullable(Commit),
        repository: Named('DeployedChart', Type.Object({ chart_name: Type.String(), chart_version: Type.String() })),
      }),
    ),
    Named('TerraformDeploymentDetails', Type.Object({ commit: Nullable(Commit), build_pod_name: Type.String() })),
  ]),
);

export const HistoryService = Named(
  'DeploymentHistoryService',
  Type.Object({
    identifier: Named(
      'DeployedServiceIdentifier',
      Type.Object({
        name: Type.String(),
        service_id: Uuid,
        service_type: Words(words.serviceTypes),
        execution_id: Type.Optional(Type.String()),
      }),
    ),
    status: Words(words.serviceStates),
    auditing_data: AuditingData,
    details: HistoryDetails,
    status_details: StatusDetails,
    icon_uri: Type.String(),
    total_duration: Type.String(),
    release_id: Nullable(Uuid),
    failure: Type.Optional(Nullable(Failure)),
  }),
);

export const ServiceHistory = Named(
  'ServiceDeploymentHistory',
  Type.Object({
    page: Type.Integer(),
    page_size: Type.Integer(),
    results: Type.Array(HistoryService),
  }),
);

export const EnvironmentHistory = Named(
  'EnvironmentDeploymentHistoryV2',
  Type.Object({
    page: Type.Integer(),
    page_size: Type.Integer(),
    results: Type.Array(
      Named(
        'EnvironmentDeploymentV2',
        Type.Object({
          identifier: Named(
            'EnvironmentDeploymentIdentifier',
            Type.Object({ execution_id: Type.String(), environment_id: Uuid }),
          ),
          auditing_data: AuditingData,
          status: Words(words.serviceStates),
          trigger_action: Words(words.triggerActions),
          total_duration: Type.String(),
          action_status: Words(['QUEUED', 'ONGOING', 'SUCCESS', 'ERROR', 'CANCELED', 'CANCELING', 'NEVER'] as const),
          stages: Type.Array(
            Named(
              'DeploymentHistoryStage',
              Type.Object({
                name: Type.String(),
                status: Words(words.stageStatuses),
                duration: Type.String(),
                services: Type.Array(HistoryService),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
);

export const ServiceQueueEntry = Named(
  'ServiceQueueEntry',
  Type.Object({
    identifier: Named(
      'ServiceQueueEntryIdentifier',
      Type.Object({
        deployment_request_id: Uuid,
        service_id: Uuid,
        service_type: Words(words.serviceTypes),
        name: Type.String(),
      }),
    ),
    auditing_data: Named('QueueAuditingData', Type.Object({ triggered_by: Type.String(), origin: Words(words.origins) })),
    status_details: StatusDetails,
    icon_uri: Type.String(),
  }),
);

export const EnvironmentQueueEntry = Named(
  'EnvironmentQueueEntry',
  Type.Object({
    identifier: Named('EnvironmentQueueEntryIdentifier', Type.Object({ deployment_request_id: Uuid, environment_id: Uuid })),
    auditing_data: Named('QueueAuditingData', Type.Object({ triggered_by: Type.String(), origin: Words(words.origins) })),
    trigger_action: Words(words.triggerActions),
    stages: Type.Array(
      Named(
        'QueuedStage',
        Type.Object({
          name: Type.String(),
          status: Words(words.stageStatuses),
          services: Type.Array(
            Named(
              'QueuedService',
              Type.Object({
                identifier: Named(
                  'QueuedServiceIdentifier',
                  Type.Object({ service_id: Uuid, service_type: Words(words.serviceTypes), name: Type.String() }),
                ),
                status: Words(words.stageStatuses),
                icon_uri: Type.Optional(Type.String()),
                // Present for jobs only.
                details: Type.Optional(Type.Object({ job_type: Words(['CRON', 'LIFECYCLE'] as const) })),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
);

/** The plan of a `dry_run`: the steps of the deployment, in order. */
export const DeploymentPlan = Named(
  'DeploymentPlan',
  Type.Object({
    action: Words(words.actions),
    stages: Type.Array(
      Named(
        'DeploymentPlanStage',
        Type.Object({
          name: Type.String(),
          services: Type.Array(
            Named(
              'DeploymentPlanService',
              Type.Object({
                service_id: Uuid,
                name: Type.String(),
                steps: Type.Array(Type.String()),
                instances: Named('InstanceChange', Type.Object({ from: Type.Integer(), to: Type.Integer() })),
                expected_downtime: Type.Boolean(),
                notes: Type.Array(Type.String()),
                changes: Type.Array(Type.String()),
              }),
            ),
          ),
        }),
      ),
    ),
  }),
);

export const DryRun = Type.Partial(Type.Object({ dry_run: Type.Boolean({ default: false }) }));
