import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Name, Named, Nullable, Text, Uuid, Words } from '../shape.ts';
import { environmentModes, weekdays } from '../shared/words.ts';

const tag = 'Deployment rule';
const ofEnvironment = '/environment/{environmentId}/deploymentRule' as const;
const ofProject = '/project/{projectId}/deploymentRule' as const;

const record = {
  id: about('Identifies the rule; that of an environment has its `id`.', Uuid),
  created_at: about('When it was created.', DateTime),
  updated_at: Type.Optional(about('When it was last changed.', DateTime)),
};
const window = {
  timezone: about('The IANA time zone of both times.', Type.String()),
  start_time: about('When it starts; only the time of day counts.', DateTime),
  stop_time: about('When it stops; only the time of day counts.', DateTime),
  weekdays: about('The days on which the rule applies.', Type.Array(Words(weekdays))),
};
/**
 * Only the time of day of `start_time` and `stop_time` is used. It is taken as written and interpreted in `timezone`.
 */
const windowRequest = {
  timezone: about('An IANA time zone, such as `Europe/Paris`.', Type.String({ minLength: 1, maxLength: 100 })),
  start_time: about('When it starts; only the time of day as written counts.', DateTime),
  stop_time: about('When it stops; another time of day than the start.', DateTime),
  weekdays: about('The days on which it applies; at least one with `auto_stop`.', Type.Array(Words(weekdays), { maxItems: 7 })),
};
const flag = Type.Optional(Nullable(Type.Boolean()));

const EnvironmentRule = Named(
  'EnvironmentDeploymentRule',
  Type.Object({
    ...record,
    on_demand_preview: Type.Optional(about('Whether pull requests get previews only on demand.', Type.Boolean())),
    auto_stop: Type.Optional(about('Whether it is started and stopped at these times.', Type.Boolean())),
    auto_preview: Type.Optional(about('Whether new services have previews by default.', Type.Boolean())),
    ...window,
  }),
  'When an environment starts and stops. Each environment has exactly one.',
);

export const getEnvironmentDeploymentRule = operation({
  id: 'getEnvironmentDeploymentRule',
  method: 'GET',
  path: ofEnvironment,
  tag,
  summary: 'Read the deployment rule of an environment',
  description: `
    Returns at which times of which days the environment is started and stopped. A rule that was never set does
    nothing: \`auto_stop\` is false.
  `,
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
  summary: 'Edit the deployment rule of an environment',
  description: `
    Sets when the environment is started and stopped. The change applies at the next of these times; nothing happens
    at once. A start deploys the services that the rule or somebody else has stopped.
  `,
  scope: 'WRITE',
  target: 'environment',
  body: Named(
    'EnvironmentDeploymentRuleEditRequest',
    Type.Object({
      on_demand_preview: about('Whether previews are made only on demand. Without it, it stays.', flag),
      auto_preview: about('Whether new services have previews by default. Without it, it stays.', flag),
      auto_stop: about('Whether to start and stop at these times. Without it, it stays.', flag),
      ...windowRequest,
    }),
    'The new rule of an environment.',
  ),
  status: 200,
  response: EnvironmentRule,
  errors: [400, 409],
});

const ProjectRule = Named(
  'ProjectDeploymentRule',
  Type.Object({
    ...record,
    name: about('Its name, unique in the project without regard to case.', Type.String()),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Type.String()))),
    mode: about('The mode of the environments that it matches.', Words(environmentModes)),
    cluster_id: about('The cluster of the environments that it matches.', Uuid),
    auto_stop: Type.Optional(about('Whether they are started and stopped at these times.', Type.Boolean())),
    ...window,
    wildcard: about('The names that it matches; `*` stands for any text. Empty: all.', Type.String()),
    priority_index: Type.Optional(about('Its place in the order, from 0; the first match applies.', Type.Integer())),
  }),
  'A rule that new environments of a project copy.',
);

const ProjectRuleRequest = Named(
  'ProjectDeploymentRuleRequest',
  Type.Object({
    name: about('Its name, unique in the project without regard to case.', Name),
    description: Type.Optional(about('What it is for; null: empty.', Nullable(Text))),
    mode: about('The mode of the environments that it matches.', Words(environmentModes)),
    cluster_id: about('The cluster of the environments that it matches.', Uuid),
    auto_stop: about('Whether to start and stop them at these times.', flag),
    ...windowRequest,
    wildcard: Type.Optional(
      about(
        'The names that it matches; `*` stands for any text. Empty: all.',
        Nullable(Type.String({ default: '', maxLength: 255 })),
      ),
    ),
  }),
  'A rule for new environments of a project.',
);

export const listProjectDeploymentRules = operation({
  id: 'listProjectDeploymentRules',
  method: 'GET',
  path: ofProject,
  tag,
  summary: 'List the deployment rules of a project',
  description: `
    Returns the rules in the order of their precedence: a new environment copies the first one that matches its
    mode, cluster and name.
  `,
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
  summary: 'Create a deployment rule of a project',
  description: `
    Adds a rule at the end of the order. New environments that match it copy it; existing environments do not
    change.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A rule of the project has the name. | Choose another name. |
  `,
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
  summary: 'Order the deployment rules of a project',
  description: `
    Sets the order of precedence. The list must have every rule of the project once, otherwise nothing changes.
    Existing environments keep their copies.
  `,
  scope: 'WRITE',
  target: 'project',
  body: Named(
    'ProjectDeploymentRulesPriorityOrderRequest',
    Type.Object({
      project_deployment_rule_ids_in_order: Type.Optional(
        about('The `id` of every rule, in the new order.', Type.Array(Uuid, { maxItems: 1000 })),
      ),
    }),
    'The order of the rules.',
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
  description: `
    Returns one rule with its place in the order. Environments that copied it have copies of their own, which may
    differ by now.
  `,
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
  summary: 'Edit a deployment rule of a project',
  description: `
    Changes the rule for environments that are created from now on. Environments that copied it before do not
    change. \`description\`, \`auto_stop\` and \`wildcard\` stay if you leave them out.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NAME_TAKEN\` (409) | A rule of the project has the name. | Choose another name. |
  `,
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
  summary: 'Delete a deployment rule of a project',
  description: `
    Deletes the rule for new environments. Environments that copied it keep their copy, and are still started and
    stopped by it.
  `,
  scope: 'WRITE',
  target: 'project',
  status: 204,
  response: null,
  errors: [],
});
