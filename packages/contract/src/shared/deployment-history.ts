import Type from 'typebox';
import { about, DateTime, Named, Nullable, Uuid, Words } from '../shape.ts';
import { Commit } from './commit.ts';
import { origins, serviceStates, stageStatuses, triggerActions } from './deployment-words.ts';
import { Failure, StatusDetails } from './status.ts';
import { jobTypes, serviceTypes } from './words.ts';

/* Shapes of the deployments of a service and of an environment. */

const AuditingData = Named(
  'AuditingData',
  Type.Object({
    created_at: about('When it was requested.', DateTime),
    updated_at: about('When it last changed; at its end, the time of the end.', DateTime),
    triggered_by: about('The name of the person or API token.', Type.String()),
    origin: Words(origins),
  }),
  'Who requested a deployment, and when.',
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
const HistoryDetails = Named(
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
        job_type: Words(jobTypes),
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
  'What was deployed, by the type of the service: of an application the commit, of a database the image.',
);

const HistoryService = Named(
  'DeploymentHistoryService',
  Type.Object({
    identifier: Named(
      'DeployedServiceIdentifier',
      Type.Object({
        name: about('The name of the service at that time.', Type.String()),
        service_id: about('The `id` of the service.', Uuid),
        service_type: Words(serviceTypes),
        execution_id: Type.Optional(about('The deployment: `<environment id>-<number>`.', Type.String())),
      }),
      'Names a service in a deployment.',
    ),
    status: about('The state that the deployment led to.', Words(serviceStates)),
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
            status: about('The state that it led to.', Words(serviceStates)),
            trigger_action: about('The action that was requested.', Words(triggerActions)),
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
                    status: Words(stageStatuses),
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
