import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named, Nullable, Paging, Uuid, Words } from '../shape.ts';
import { Commit } from '../shared/commit.ts';
import { EnvironmentHistory } from '../shared/deployment-history.ts';
import { origins, serviceStates } from '../shared/deployment-words.ts';
import { oldHistoryEntry, oldHistoryPage, oldHistoryQuery } from './old-history.ts';

export const listEnvironmentDeploymentHistoryV2 = operation({
  id: 'listEnvironmentDeploymentHistoryV2',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentHistoryV2',
  tag: 'Environment',
  summary: 'List the deployments of an environment',
  description: `
    Returns the deployments, newest first, twenty a page: who requested each, what it did with each service, and why
    a service failed.
  `,
  scope: 'READ',
  target: 'environment',
  query: Paging,
  status: 200,
  response: EnvironmentHistory,
  errors: [400],
});

/*
 * Below, the older version of the deployment histories. It has fewer fields than the second version. Its lists are
 * continued by the id of the last deployment read (`startId`) instead of by pages.
 */

const common = {
  ...oldHistoryEntry,
  commit: Type.Optional(about('The commit that was deployed; null: none.', Nullable(Commit))),
};
const services = Type.Optional(
  about(
    'The services of this type.',
    Type.Array(
      Named(
        'EnvironmentDeploymentService',
        Type.Object({ ...common, status: Type.Optional(about('The state that the deployment led to.', Words(serviceStates))) }),
        'What a deployment did with one service, in the older form.',
      ),
    ),
  ),
);

export const listEnvironmentDeploymentHistory = operation({
  id: 'listEnvironmentDeploymentHistory',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentHistory',
  tag: 'Environment',
  summary: 'List the deployments of an environment, older form',
  description: `
    Returns up to twenty deployments, newest first, with fewer fields than the path with \`V2\`, which you should
    prefer. \`startId\` continues after the last one read.
  `,
  scope: 'READ',
  target: 'environment',
  query: oldHistoryQuery,
  status: 200,
  response: Named(
    'EnvironmentDeploymentHistory',
    Type.Object({
      ...oldHistoryPage,
      results: about(
        'The deployments, newest first.',
        Type.Array(
          Named(
            'EnvironmentDeployment',
            Type.Object({
              id: about('Identifies it; it never changes.', Uuid),
              created_at: about('When it was requested.', DateTime),
              updated_at: Type.Optional(about('When it was last changed.', DateTime)),
              status: Type.Optional(about('The state that it led to.', Words(serviceStates))),
              origin: Type.Optional(Words(origins)),
              triggered_by: Type.Optional(about('The name of the person or API token.', Type.String())),
              applications: about('The applications that it concerned.', services),
              containers: about('The containers that it concerned.', services),
              databases: about('The databases that it concerned.', services),
              jobs: about('The jobs that it concerned.', services),
              helms: about('The Helm charts that it concerned.', services),
              terraforms: about('The Terraform configurations that it concerned.', services),
            }),
            'A deployment of an environment, in the older form.',
          ),
        ),
      ),
    }),
    'A page of deployments in the older form.',
  ),
  errors: [400],
});
