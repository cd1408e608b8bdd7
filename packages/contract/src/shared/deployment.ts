import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import { ChangedSinceSuccess } from './release.ts';
import * as words from './words.ts';

export const StatusDetails = Named(
  'StatusDetails',
  Type.Object({
    action: about('The latest action; UNKNOWN before the first one.', Words(words.actions)),
    status: Words(words.actionStatuses),
    sub_action: about('What it does, for Terraform; otherwise NONE.', Words(words.subActions, { default: 'NONE' })),
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
export const Condition = Named(
  'ServiceCondition',
  Type.Object({
    kind: Words(words.conditionKinds),
    severity: Words(words.conditionSeverities),
    ...Fault.properties,
    instance: about('The instance concerned; null: the service as a whole.', Nullable(Type.String())),
    occurrences: about('How often it was observed.', Type.Integer()),
    since: about('When it was first observed.', DateTime),
    last_seen_at: about('When it was last observed.', DateTime),
  }),
  'A problem of a deployed service, from its observation until it is cleared.',
);

export const Steps = Named(
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
            step_name: Type.Optional(Words(words.stepNames)),
            status: Type.Optional(Words(words.stepStatuses)),
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
    state: about('The state by the latest action, waiting ones included.', Words(words.serviceStates)),
    service_deployment_status: about('Whether the current configuration is deployed.', Words(words.deploymentStatuses)),
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
      about('How its instances are; null while nothing is deployed.', Nullable(Words(words.runningStatuses))),
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
    state: about('The state by the deployments of its services.', Words(words.serviceStates)),
    last_deployment_date: Type.Optional(about('When it was last deployed. Absent: never.', Nullable(DateTime))),
    last_deployment_state: about(
      'The waiting or running deployment, otherwise the result of the last. Wait for this.',
      Words(words.serviceStates),
    ),
    last_deployment_id: Type.Optional(
      about('The latest deployment: `<environment id>-<number>`; null: none.', Nullable(Type.String())),
    ),
    total_deployment_duration_in_seconds: Type.Optional(
      about('Seconds that the latest deployment took; null: it runs, or there was none.', Nullable(Type.Integer())),
    ),
    origin: Type.Optional(about('From where the latest deployment was requested; null: none.', Nullable(Words(words.origins)))),
    triggered_by: Type.Optional(about('Who requested the latest deployment; null: none.', Nullable(Type.String()))),
    deployment_status: Type.Optional(about('OUT_OF_DATE if a service that is not skipped is.', Words(words.deploymentStatuses))),
    deployment_request_id: Type.Optional(
      about('The next waiting request; in the answer to an action, its own. null: none.', Nullable(Uuid)),
    ),
  }),
  'The status of an environment as a whole.',
);

export const AuditingData = Named(
  'AuditingData',
  Type.Object({
    created_at: about('When it was requested.', DateTime),
    updated_at: about('When it last changed; at its end, the time of the end.', DateTime),
    triggered_by: about('The name of the person or API token.', Type.String()),
    origin: Words(words.origins),
  }),
  'Who requested a deployment, and when.',
);

export const Commit = Named(
  'Commit',
  Type.Object({
    created_at: about('When it was committed.', DateTime),
    git_commit_id: about('The full hash of the commit.', Type.String()),
    tag: about('The tag of the commit; empty if it has none.', Type.String()),
    message: about('The message of the commit.', Type.String()),
    author_name: about('The name of its author.', Type.String()),
    author_avatar_url: Type.Optional(about('The picture of its author, if the host has one.', Type.String())),
    commit_page_url: Type.Optional(about('Its page at the git host, if that is known.', Type.String())),
  }),
  'A commit of a git repository.',
);

const Command = Named(
  'DeployedCommand',
  Type.Object({
    arguments: about('The arguments of the command.', Type.Array(Type.String())),
    entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
  }),
  'The command of a run.',
);

/** Details of a deployment; the fields depend on the type of its service. */
export const HistoryDetails = Named(
  'DeploymentHistoryDetails',
  Type.Union([
    Named(
      'JobDeploymentDetails',
      Type.Object({
        image_name: about('The name of the image.', Type.String()),
        tag: about('The tag of the image.', Type.String()),
        commit: about('The commit that was built; null for an image of a registry.', Nullable(Commit)),
        schedule: Named(
          'DeployedSchedule',
          Type.Object({
            on_start: Type.Optional(about('The command of a deployment. Absent: none.', Command)),
            on_stop: Type.Optional(about('The command of a stop. Absent: none.', Command)),
            on_delete: Type.Optional(about('The command of a deletion. Absent: none.', Command)),
            cron_job: Type.Optional(
              Named(
                'DeployedCron',
                Type.Object({
                  ...Command.properties,
                  scheduled_at: about('The cron expression, five fields.', Type.String()),
                  timezone: about('The time zone of the expression.', Type.String()),
                }),
                'The command and the times of a cron job.',
              ),
            ),
          }),
          'The events or times of a job.',
        ),
        job_type: Words(words.jobTypes),
        build_pod_name: about('The name of the build; may be empty.', Type.String()),
      }),
      'What was deployed of a job.',
    ),
    Named(
      'ContainerDeploymentDetails',
      Type.Object({
        image_name: about('The name of the image.', Type.String()),
        tag: about('The tag of the image.', Type.String()),
        arguments: about('The arguments of the command.', Type.Array(Type.String())),
        entrypoint: Type.Optional(about('The program. Absent: that of the image.', Type.String())),
      }),
      'What was deployed of a container.',
    ),
    Named(
      'HelmDeploymentDetails',
      Type.Object({
        commit: about('The commit of the chart; null for a chart of a repository.', Nullable(Commit)),
        repository: Named(
          'DeployedChart',
          Type.Object({
            chart_name: about('The name of the chart.', Type.String()),
            chart_version: about('The version of the chart.', Type.String()),
          }),
          'A chart of a Helm repository.',
        ),
      }),
      'What was deployed of a Helm chart.',
    ),
    Named(
      'TerraformDeploymentDetails',
      Type.Object({
        commit: about('The commit of the configuration.', Nullable(Commit)),
        build_pod_name: about('The name of the run; may be empty.', Type.String()),
      }),
      'What was deployed of a Terraform configuration.',
    ),
  ]),
  'What was deployed, by the type of the service; empty for a database.',
);

export const HistoryService = Named(
  'DeploymentHistoryService',
  Type.Object({
    identifier: Named(
      'DeployedServiceIdentifier',
      Type.Object({
        name: about('The name of the service at that time.', Type.String()),
        service_id: about('The `id` of the service.', Uuid),
        service_type: Words(words.serviceTypes),
        execution_id: Type.Optional(about('The deployment: `<environment id>-<number>`.', Type.String())),
      }),
      'Names a service in a deployment.',
    ),
    status: about('The state that the deployment led to.', Words(words.serviceStates)),
    auditing_data: AuditingData,
    details: HistoryDetails,
    status_details: StatusDetails,
    icon_uri: about('The icon of the service.', Type.String()),
    total_duration: about('The duration, in the form of ISO 8601 such as `PT12S`.', Type.String()),
    release_id: about('Deploy it again with this id; null: there is no release.', Nullable(Uuid)),
    failure: Type.Optional(about('Why it failed; null if it did not.', Nullable(Failure))),
  }),
  'What one deployment did with one service.',
);

export const ServiceHistory = Named(
  'ServiceDeploymentHistory',
  Type.Object({
    page: about('The number of this page, from 1.', Type.Integer()),
    page_size: about('How many records a page has.', Type.Integer()),
    results: about('The deployments, newest first.', Type.Array(HistoryService)),
  }),
  'A page of deployments, newest first.',
);

export const EnvironmentHistory = Named(
  'EnvironmentDeploymentHistoryV2',
  Type.Object({
    page: about('The number of this page, from 1.', Type.Integer()),
    page_size: about('How many records a page has.', Type.Integer()),
    results: about(
      'The deployments, newest first.',
      Type.Array(
        Named(
          'EnvironmentDeploymentV2',
          Type.Object({
            identifier: Named(
              'EnvironmentDeploymentIdentifier',
              Type.Object({
                execution_id: about('The deployment: `<environment id>-<number>`.', Type.String()),
                environment_id: about('The environment that was deployed.', Uuid),
              }),
              'Identifies a deployment.',
            ),
            auditing_data: AuditingData,
            status: about('The state that it led to.', Words(words.serviceStates)),
            trigger_action: about('The action that was requested.', Words(words.triggerActions)),
            total_duration: about('The duration, in the form of ISO 8601 such as `PT12S`.', Type.String()),
            action_status: about(
              'How far it is.',
              Words({
                QUEUED: 'It waits in the queue.',
                ONGOING: 'It is running.',
                SUCCESS: 'It succeeded.',
                ERROR: 'It failed.',
                CANCELED: 'It was canceled.',
                CANCELING: 'It is being canceled.',
                NEVER: 'There was no action.',
              }),
            ),
            stages: about(
              'Its stages, in their order.',
              Type.Array(
                Named(
                  'DeploymentHistoryStage',
                  Type.Object({
                    name: about('The name of the stage at that time.', Type.String()),
                    status: Words(words.stageStatuses),
                    duration: about('The duration, in the form of ISO 8601 such as `PT12S`.', Type.String()),
                    services: about('The services of the stage.', Type.Array(HistoryService)),
                  }),
                  'One stage of a deployment.',
                ),
              ),
            ),
          }),
          'One deployment of an environment.',
        ),
      ),
    ),
  }),
  'A page of deployments, newest first.',
);

const QueueAuditing = Named(
  'QueueAuditingData',
  Type.Object({
    triggered_by: about('The name of the person or API token.', Type.String()),
    origin: Words(words.origins),
  }),
  'Who requested it, and from where.',
);

export const ServiceQueueEntry = Named(
  'ServiceQueueEntry',
  Type.Object({
    identifier: Named(
      'ServiceQueueEntryIdentifier',
      Type.Object({
        deployment_request_id: about('The `id` of the request, to withdraw it.', Uuid),
        service_id: about('The `id` of the service.', Uuid),
        service_type: Words(words.serviceTypes),
        name: about('The name of the service.', Type.String()),
      }),
      'Names a request and a service.',
    ),
    auditing_data: QueueAuditing,
    status_details: about('The requested action.', StatusDetails),
    icon_uri: about('The icon of the service.', Type.String()),
  }),
  'A waiting request, for one of its services.',
);

export const EnvironmentQueueEntry = Named(
  'EnvironmentQueueEntry',
  Type.Object({
    identifier: Named(
      'EnvironmentQueueEntryIdentifier',
      Type.Object({
        deployment_request_id: about('The `id` of the request, to withdraw it.', Uuid),
        environment_id: about('The environment of the request.', Uuid),
      }),
      'Identifies a request.',
    ),
    auditing_data: QueueAuditing,
    trigger_action: about('The requested action.', Words(words.triggerActions)),
    stages: about(
      'Its services by stage, in their order.',
      Type.Array(
        Named(
          'QueuedStage',
          Type.Object({
            name: about('The name of the stage.', Type.String()),
            status: Words(words.stageStatuses),
            services: about(
              'The services of the stage.',
              Type.Array(
                Named(
                  'QueuedService',
                  Type.Object({
                    identifier: Named(
                      'QueuedServiceIdentifier',
                      Type.Object({
                        service_id: about('The `id` of the service.', Uuid),
                        service_type: Words(words.serviceTypes),
                        name: about('The name of the service.', Type.String()),
                      }),
                      'Identifies a service.',
                    ),
                    status: Words(words.stageStatuses),
                    icon_uri: Type.Optional(about('The icon of the service.', Type.String())),
                    // Present for jobs only.
                    details: Type.Optional(
                      about(
                        'Present for jobs only.',
                        Type.Object({
                          job_type: Words(words.jobTypes),
                        }),
                      ),
                    ),
                  }),
                  'A service of a waiting request.',
                ),
              ),
            ),
          }),
          'A stage of a waiting request.',
        ),
      ),
    ),
  }),
  'A request that waits for its turn in an environment.',
);

/** The plan of a `dry_run`: the steps of the deployment, in order. */
export const DeploymentPlan = Named(
  'DeploymentPlan',
  Type.Object({
    action: Words(words.actions),
    stages: about(
      'The stages, in their order.',
      Type.Array(
        Named(
          'DeploymentPlanStage',
          Type.Object({
            name: about('The name of the stage.', Type.String()),
            services: about(
              'The services of the stage.',
              Type.Array(
                Named(
                  'DeploymentPlanService',
                  Type.Object({
                    service_id: about('The `id` of the service.', Uuid),
                    name: about('The name of the service.', Type.String()),
                    steps: about('The steps, in their order.', Type.Array(Type.String())),
                    instances: Named(
                      'InstanceChange',
                      Type.Object({
                        from: about('How many instances run now.', Type.Integer()),
                        to: about('How many will run afterwards.', Type.Integer()),
                      }),
                      'A change of the number of instances.',
                    ),
                    expected_downtime: about('Whether the service is unavailable for a moment.', Type.Boolean()),
                    notes: about('Remarks, for example why it is not scaled.', Type.Array(Type.String())),
                    changes: about('The fields that differ from the deployed release.', Type.Array(Type.String())),
                  }),
                  'What would be done with one service.',
                ),
              ),
            ),
          }),
          'One stage of a plan.',
        ),
      ),
    ),
  }),
  'What would be done; only with `dry_run`.',
);

export const DryRun = Type.Partial(
  Type.Object({ dry_run: about('Only return the plan; nothing is deployed.', Type.Boolean({ default: false })) }),
);
