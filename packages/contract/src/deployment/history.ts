import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, Nullable, Uuid, Words, Named } from '../shape.ts';
import { Commit } from '../shared/deployment.ts';
import { origins, serviceStates } from '../shared/words.ts';
import { oldHistoryEntry, oldHistoryPage, oldHistoryQuery } from './old-history.ts';

/*
 * The older version of the deployment histories. It has fewer fields than the second version. Its lists are continued
 * by the id of the last deployment read (`startId`) instead of by pages.
 */

const common = { ...oldHistoryEntry, commit: Type.Optional(Nullable(Commit)) };
const services = Type.Optional(
  Type.Array(Named('EnvironmentDeploymentService', Type.Object({ ...common, status: Type.Optional(Words(serviceStates)) }))),
);

export const listEnvironmentDeploymentHistory = operation({
  id: 'listEnvironmentDeploymentHistory',
  method: 'GET',
  path: '/environment/{environmentId}/deploymentHistory',
  tag: 'Environment',
  summary: 'List the deployments of an environment in the older shape, newest first; `startId`: those before this one',
  scope: 'READ',
  target: 'environment',
  query: oldHistoryQuery,
  status: 200,
  response: Named(
    'EnvironmentDeploymentHistory',
    Type.Object({
      ...oldHistoryPage,
      results: Type.Array(
        Named(
          'EnvironmentDeployment',
          Type.Object({
            id: Uuid,
            created_at: DateTime,
            updated_at: Type.Optional(DateTime),
            status: Type.Optional(Words(serviceStates)),
            origin: Type.Optional(Words(origins)),
            triggered_by: Type.Optional(Type.String()),
            applications: services,
            containers: services,
            databases: services,
            jobs: services,
            helms: services,
            terraforms: services,
          }),
        ),
      ),
    }),
  ),
  errors: [400],
});
