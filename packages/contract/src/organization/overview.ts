import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Named, Nullable, Uuid, Words } from '../shape.ts';
import { deploymentStatuses, origins, runningStatuses, serviceStates } from '../shared/deployment-words.ts';
import { environmentModes, serviceTypes } from '../shared/words.ts';

const named = { id: about('The `id` of the record.', Uuid), name: about('The name of the record.', Type.String()) };
const outOfDate = 'Whether the deployed settings are those that a deployment would use now.';

const Problem = Named(
  'OverviewProblem',
  Type.Object({
    severity: about(
      'Whether the service is harmed.',
      Words(
        enumeration(
          'ProblemSeverity',
          { ERROR: 'The last deployment failed, or the service does not work.', WARNING: 'It works, and something is wrong.' },
          'How bad a problem is.',
        ),
      ),
    ),
    code: about('The cause, one of the codes of `docs/errors.md`.', Type.String()),
    message: about('What happened, in a sentence.', Type.String()),
    hint: about('What to do about it. Empty if there is nothing.', Type.String()),
    since: about('When the deployment ended, or the condition began. null: unknown.', Nullable(DateTime)),
  }),
  'Why a service is failing.',
);

const OverviewService = Named(
  'OverviewService',
  Type.Object({
    id: about('The `id` of the service.', Uuid),
    name: about('The name of the service.', Type.String()),
    service_type: about('The type of the service.', Words(serviceTypes)),
    icon_uri: about('The icon that was chosen for the service; empty: none.', Type.String()),
    state: about('What the last deployment, or a waiting one, did or does.', Words(serviceStates)),
    deployment_status: about(outOfDate, Words(deploymentStatuses)),
    running_status: about('How its instances are. null: it has no lasting instances.', Nullable(Words(runningStatuses))),
    running_instances: about(
      'The number of ready instances. null: unknown, or it has no lasting ones.',
      Nullable(Type.Integer()),
    ),
    wanted_instances: about('The number of instances that should run. null: see `running_instances`.', Nullable(Type.Integer())),
    addresses: about('The public URLs of what is deployed; at most ten, custom domains included.', Type.Array(Type.String())),
    last_deployment_at: about('When its last deployment ended, or began if it runs. null: never.', Nullable(DateTime)),
    problems: about('Why it is failing, worst first. Empty: nothing is known to be wrong.', Type.Array(Problem)),
  }),
  'A service, as an overview shows it.',
);

const LastDeployment = Named(
  'OverviewDeployment',
  Type.Object({
    execution_id: about('The execution id of the deployment, for its log.', Type.String()),
    state: about('The state of the deployment.', Words(serviceStates)),
    running: about('Whether the deployment is still running.', Type.Boolean()),
    at: about('When the deployment ended, or began if it runs.', DateTime),
    triggered_by: about('Who requested the deployment.', Type.String()),
    origin: about('The way in which it was requested.', Words(origins)),
  }),
  'The last deployment of an environment.',
);

export const getOrganizationOverview = operation({
  id: 'getOrganizationOverview',
  method: 'GET',
  path: '/organization/{organizationId}/overview',
  tag: 'Organization',
  summary: 'Read an overview of an organization',
  description: `
    Returns the environments of all projects with their services: states, addresses, last deployments, what is out of date,
    and what is failing and why. Environments are listed oldest first, services in the order of deployment.

    A custom role gets only the environments that it may read. 
  `,
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(
    Named(
      'OrganizationOverviewEnvironment',
      Type.Object({
        id: about('The `id` of the environment.', Uuid),
        name: about('The name of the environment.', Type.String()),
        mode: about('What the environment is for.', Words(environmentModes)),
        project: about('The project of the environment.', Type.Object(named)),
        cluster: about('The cluster of the environment.', Type.Object(named)),
        state: about('The state of its services together; that of its last deployment if it has none.', Words(serviceStates)),
        deployment_status: about(`${outOfDate} Skipped services do not count.`, Words(deploymentStatuses)),
        last_deployment: about('The last deployment that left the queue. null: none did.', Nullable(LastDeployment)),
        deployment_request_id: about('The `id` of the first waiting request. null: none waits.', Nullable(Uuid)),
        services: about('The services, in the order of deployment.', Type.Array(OverviewService)),
      }),
      'An environment with its services, as an overview shows it.',
    ),
  ),
  errors: [],
});
