import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Nullable, Uuid, Words } from '../shape.ts';
import { EnvironmentStatus, ServiceStatus } from '../shared/status.ts';
import { stageStatuses, stepStatuses } from '../shared/deployment-words.ts';

const tag = 'Environment';
const at = '/environment/{environmentId}' as const;

const statuses = Type.Array(ServiceStatus);

export const getEnvironmentStatus = operation({
  id: 'getEnvironmentStatus',
  method: 'GET',
  path: `${at}/status`,
  tag,
  summary: 'Read the status of an environment',
  description: `
    Returns the state of the environment as a whole. To wait for a deployment, read until \`last_deployment_state\` is
    an end: DEPLOYED, STOPPED, RESTARTED, DELETED, CANCELED, or one with ERROR.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: EnvironmentStatus,
  errors: [],
});

export const getEnvironmentStatuses = operation({
  id: 'getEnvironmentStatuses',
  method: 'GET',
  path: `${at}/statuses`,
  tag,
  summary: 'Read all statuses of an environment',
  description: `
    Returns the status of the environment and those of its services, by type. One request is cheaper than one for
    each service.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatuses',
    Type.Object({
      environment: EnvironmentStatus,
      applications: about('The statuses of the applications.', statuses),
      containers: about('The statuses of the containers.', statuses),
      jobs: about('The statuses of the jobs.', statuses),
      databases: about('The statuses of the databases.', statuses),
      helms: about('The statuses of the Helm charts.', statuses),
      terraforms: about('The statuses of the Terraform configurations.', statuses),
    }),
    'The status of an environment and of all its services.',
  ),
  errors: [],
});

export const getProjectEnvironmentsStatus = operation({
  id: 'getProjectEnvironmentsStatus',
  method: 'GET',
  path: '/project/{projectId}/environment/status',
  tag,
  summary: 'Read the statuses of the environments',
  description: `
    Returns the status of each environment of the project, oldest first. One request is cheaper than one for each
    environment.
  `,
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(EnvironmentStatus),
  errors: [],
});

const StageSteps = Named(
  'StageStepMetrics',
  Type.Object({
    stage_id: about('The `id` of the stage.', Uuid),
    total_duration_sec: about('Seconds in total; null until it has ended.', Nullable(Type.Integer())),
    details: about(
      'The measured steps.',
      Type.Array(
        Named(
          'StageStepMetric',
          Type.Object({
            stage_id: about('The `id` of the stage.', Uuid),
            step_name: about(
              'The measured step.',
              Words({
                TOTAL: 'The stage as a whole.',
                QUEUEING: 'The time of waiting.',
                PROVISION_BUILDER: 'The time to get a builder.',
              }),
            ),
            status: Words(stepStatuses),
            duration_sec: about('Its duration in seconds.', Type.Integer()),
          }),
          'The time of one step of a stage.',
        ),
      ),
    ),
  }),
  'How long a stage took.',
);

export const getEnvironmentStatusesWithStages = operation({
  id: 'getEnvironmentStatusesWithStages',
  method: 'GET',
  path: `${at}/statusesWithStages`,
  tag,
  summary: 'Read the statuses by stage',
  description: `
    Returns the status of the environment, and its stages in their order, each with the statuses of its services. The
    progress is that of the running deployment, else of the next, else of the last one.
  `,
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: Named(
    'EnvironmentStatusesWithStages',
    Type.Object({
      environment: EnvironmentStatus,
      stages: about(
        'The stages, in their order.',
        Type.Array(
          Named(
            'StageWithStatuses',
            Type.Object({
              stage: Named(
                'StageStatus',
                Type.Object({
                  id: about('The `id` of the stage.', Uuid),
                  name: about('The name of the stage.', Type.String()),
                  description: about('What it is for; may be empty.', Type.String()),
                  status: Type.Optional(about('How far it is. Absent: there was no deployment.', Words(stageStatuses))),
                  steps: Type.Optional(about('How long it took. Absent: it was not part of it.', StageSteps)),
                }),
                'A stage with its progress in a deployment.',
              ),
              applications: about('The statuses of the applications.', statuses),
              containers: about('The statuses of the containers.', statuses),
              jobs: about('The statuses of the jobs.', statuses),
              databases: about('The statuses of the databases.', statuses),
              helms: about('The statuses of the Helm charts.', statuses),
              terraforms: about('The statuses of the Terraform configurations.', statuses),
            }),
            'A stage with the statuses of its services.',
          ),
        ),
      ),
    }),
    'The status of an environment by its stages.',
  ),
  errors: [],
});
