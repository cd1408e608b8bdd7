import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Text, Uuid, Words, Named } from '../shape.ts';
import { environmentModes, weekdays } from '../shared/words.ts';

const tag = 'Deployment rule';
const ofEnvironment = '/environment/{environmentId}/deploymentRule' as const;
const ofProject = '/project/{projectId}/deploymentRule' as const;

const record = { id: Uuid, created_at: DateTime, updated_at: Type.Optional(DateTime) };
const window = {
  timezone: Type.String(),
  start_time: DateTime,
  stop_time: DateTime,
  weekdays: Type.Array(Words(weekdays)),
};
/**
 * Only the time of day of `start_time` and `stop_time` is used. It is taken as written and interpreted in `timezone`.
 */
const windowRequest = {
  timezone: Type.String({ minLength: 1, maxLength: 100 }),
  start_time: DateTime,
  stop_time: DateTime,
  weekdays: Type.Array(Words(weekdays), { maxItems: 7 }),
};
const flag = Type.Optional(Nullable(Type.Boolean()));

const EnvironmentRule = Named(
  'EnvironmentDeploymentRule',
  Type.Object({
    ...record,
    on_demand_preview: Type.Optional(Type.Boolean()),
    auto_stop: Type.Optional(Type.Boolean()),
    auto_preview: Type.Optional(Type.Boolean()),
    ...window,
  }),
);

export const getEnvironmentDeploymentRule = operation({
  id: 'getEnvironmentDeploymentRule',
  method: 'GET',
  path: ofEnvironment,
  tag,
  summary: 'Read the deployment rule of an environment: on which days it is started and stopped, and when',
  scope: 'READ',
  target: 'environment',
  status: 200,
  response: EnvironmentRule,
  errors: [],
});

export const editEnvironmentDeploymentRule = operation({
  id: 'editEnvironmentDeploymentRule',
  method: 'PUT',
  path: `${ofEnvironment}/{deploymentRuleId}`,
  tag,
  summary: 'Edit the deployment rule of an environment; it takes effect at the next start or stop time',
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'EnvironmentDeploymentRuleEditRequest',
    Type.Object({ on_demand_preview: flag, auto_preview: flag, auto_stop: flag, ...windowRequest }),
  ),
  status: 200,
  response: EnvironmentRule,
  errors: [400, 409],
});

const ProjectRule = Named(
  'ProjectDeploymentRule',
  Type.Object({
    ...record,
    name: Type.String(),
    description: Type.Optional(Nullable(Type.String())),
    mode: Words(environmentModes),
    cluster_id: Uuid,
    auto_stop: Type.Optional(Type.Boolean()),
    ...window,
    wildcard: Type.String(),
    priority_index: Type.Optional(Type.Integer()),
  }),
);

const ProjectRuleRequest = Named(
  'ProjectDeploymentRuleRequest',
  Type.Object({
    name: Name,
    description: Type.Optional(Nullable(Text)),
    mode: Words(environmentModes),
    cluster_id: Uuid,
    auto_stop: flag,
    ...windowRequest,
    wildcard: Type.Optional(Nullable(Type.String({ default: '', maxLength: 255 }))),
  }),
);

export const listProjectDeploymentRules = operation({
  id: 'listProjectDeploymentRules',
  method: 'GET',
  path: ofProject,
  tag,
  summary: 'List the deployment rules of a project in the order of their precedence',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: List(ProjectRule),
  errors: [],
});

export const createDeploymentRule = operation({
  id: 'createDeploymentRule',
  method: 'POST',
  path: ofProject,
  tag,
  summary: 'Add a rule for new environments of the project whose mode, cluster and name match it',
  scope: 'WRITE',
  target: 'project',
  body: ProjectRuleRequest,
  status: 201,
  response: ProjectRule,
  errors: [400, 409],
});

export const updateDeploymentRulesPriorityOrder = operation({
  id: 'updateDeploymentRulesPriorityOrder',
  record: null,
  method: 'PUT',
  path: `${ofProject}/order`,
  tag,
  summary: 'Set the order of the deployment rules of a project; the list must name all of them',
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'ProjectDeploymentRulesPriorityOrderRequest',
    Type.Object({ project_deployment_rule_ids_in_order: Type.Optional(Type.Array(Uuid, { maxItems: 1000 })) }),
  ),
  status: 200,
  response: null,
  errors: [400],
});

export const getProjectDeploymentRule = operation({
  id: 'getProjectDeploymentRule',
  method: 'GET',
  path: `${ofProject}/{deploymentRuleId}`,
  tag,
  summary: 'Read a deployment rule of a project',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: ProjectRule,
  errors: [],
});

// The misspelling is part of the public description; clients name their methods after it.
export const editProjectDeployemtnRule = operation({
  id: 'editProjectDeployemtnRule',
  method: 'PUT',
  path: `${ofProject}/{deploymentRuleId}`,
  tag,
  summary: 'Edit a deployment rule of a project; environments that already have it are not changed',
  scope: 'WRITE',
  target: 'project',
  body: ProjectRuleRequest,
  status: 200,
  response: ProjectRule,
  errors: [400, 409],
});

export const deleteProjectDeploymentRule = operation({
  id: 'deleteProjectDeploymentRule',
  method: 'DELETE',
  path: `${ofProject}/{deploymentRuleId}`,
  tag,
  summary: 'Delete a deployment rule of a project; environments that already have it are not changed',
  scope: 'WRITE',
  target: 'project',
  status: 204,
  response: null,
  errors: [],
});
