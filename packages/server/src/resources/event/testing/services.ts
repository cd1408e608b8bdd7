import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { here, keyed, making, named, source, type Ids, type Recipe, type Recipes, type EventFixture } from './fixture.ts';

/* Calls that change projects and what is in them. */

const fresh = async (fixture: EventFixture): Promise<Ids> => fixture.fresh();
const deployed = async (fixture: EventFixture): Promise<Ids> => fixture.deployed();
const running = statement(
  'test_event_running',
  `update deployment set status = 'RUNNING', started_at = clock_timestamp() where environment_id = $1`,
);
const stage = making('deploymentStageId', ({ environmentId }) => `/environment/${environmentId}/deploymentStage`, named);

/** Returns the id of a default stage by its name, and the id of the next one. */
const stages =
  (first: number, second: number): Recipe['ids'] =>
  async (fixture) => {
    const { environmentId = '' } = fixture.here;
    const { results } = await fixture.server.client().call('listEnvironmentDeploymentStage', { params: { environmentId } });
    return { deploymentStageId: results[first]?.id ?? '', stageId: results[second]?.id ?? '' };
  };

const window = {
  auto_stop: true,
  timezone: 'Europe/Paris',
  start_time: '1970-01-01T08:00:00Z',
  stop_time: '1970-01-01T18:00:00Z',
  weekdays: ['MONDAY'],
};
const projectRule = ({ clusterId }: Ids): object => ({ ...named(), ...window, mode: 'STAGING', cluster_id: clusterId });
const projectRuleMade = making('deploymentRuleId', ({ projectId }) => `/project/${projectId}/deploymentRule`, projectRule);
const restriction = (): object => ({ mode: 'MATCH', type: 'PATH', value: randomUUID() });

/** Returns the operations on restrictions of one type of service. */
function recipesOfRestriction(Noun: string): Recipes {
  const noun = Noun.toLowerCase();
  const at = (ids: Ids): string => `/${noun}/${ids[`${noun}Id`]}/deploymentRestriction`;
  const made = making('deploymentRestrictionId', at, restriction);
  const of = `${Noun.toUpperCase()} CONFIG`;
  return {
    [`create${Noun}DeploymentRestriction`]: { ids: here, body: restriction, event: `CREATE ${of}` },
    [`edit${Noun}DeploymentRestriction`]: { ids: made, body: restriction, event: `UPDATE ${of}` },
    [`delete${Noun}DeploymentRestriction`]: { ids: made, event: `DELETE ${of}` },
  };
}

/** Calls on the schedules of environments and on the causes of deployments of an application. */
export const ruleRecipes: Recipes = {
  editEnvironmentDeploymentRule: {
    ids: async (fixture) => {
      const ids = await fixture.fresh();
      return { ...ids, deploymentRuleId: ids['environmentId'] ?? '' };
    },
    body: () => ({ ...window, auto_preview: true }),
    event: 'UPDATE ENVIRONMENT DEPLOYMENT_RULE',
  },
  createDeploymentRule: { ids: here, body: projectRule, event: 'CREATE PROJECT DEPLOYMENT_RULE' },
  editProjectDeployemtnRule: { ids: projectRuleMade, body: projectRule, event: 'UPDATE PROJECT DEPLOYMENT_RULE' },
  deleteProjectDeploymentRule: { ids: projectRuleMade, event: 'DELETE PROJECT DEPLOYMENT_RULE' },
  updateDeploymentRulesPriorityOrder: {
    ids: async (fixture) => {
      const ids = await fixture.fresh();
      const path = `/project/${ids['projectId']}/deploymentRule`;
      const first = await fixture.make(path, projectRule(ids));
      const second = await fixture.make(path, projectRule(ids));
      return { ...ids, first, second };
    },
    body: ({ first, second }) => ({ project_deployment_rule_ids_in_order: [second, first] }),
    event: 'UPDATE PROJECT DEPLOYMENT_RULE',
  },
  ...recipesOfRestriction('Application'),
  ...recipesOfRestriction('Job'),
  ...recipesOfRestriction('Helm'),
  ...recipesOfRestriction('Terraform'),
};

const chosen = ({ applicationId }: Ids): object => ({ application_ids: [applicationId] });

/** Actions on several services of an environment. */
export const selectionRecipes: Recipes = {
  deployAllServices: {
    ids: fresh,
    body: ({ applicationId }) => ({ applications: [{ application_id: applicationId }] }),
    event: 'TRIGGER_DEPLOY APPLICATION',
  },
  stopSelectedServices: { ids: deployed, body: chosen, event: 'TRIGGER_STOP APPLICATION' },
  rebootServices: { ids: deployed, body: chosen, event: 'TRIGGER_RESTART APPLICATION' },
  deleteSelectedServices: { ids: fresh, body: chosen, event: 'DELETE APPLICATION' },
  uninstallSelectedServices: { ids: deployed, body: chosen, event: 'TRIGGER_UNINSTALL APPLICATION' },
  uninstallEnvironment: { ids: deployed, event: 'TRIGGER_UNINSTALL ENVIRONMENT' },
  cloneEnvironment: { ids: fresh, body: named, event: 'CLONE ENVIRONMENT' },
};

export const placeRecipes: Recipes = {
  createProject: { ids: here, body: named, event: 'CREATE PROJECT' },
  editProject: { ids: here, body: named, event: 'UPDATE PROJECT' },
  deleteProject: { ids: making('projectId', () => 'project', named), event: 'DELETE PROJECT' },
  createEnvironment: { ids: here, body: named, event: 'CREATE ENVIRONMENT' },
  editEnvironment: { ids: here, body: named, event: 'UPDATE ENVIRONMENT' },
  deleteEnvironment: { ids: deployed, event: 'TRIGGER_DELETE ENVIRONMENT' },
  deployEnvironment: { ids: fresh, event: 'TRIGGER_DEPLOY ENVIRONMENT' },
  redeployEnvironment: { ids: deployed, event: 'TRIGGER_REDEPLOY ENVIRONMENT' },
  stopEnvironment: { ids: deployed, event: 'TRIGGER_STOP ENVIRONMENT' },
  cancelEnvironmentDeployment: {
    ids: async (fixture) => {
      const made = await fixture.deployed();
      await fixture.server.database.database.run(running, [made['environmentId']]);
      return made;
    },
    event: 'TRIGGER_CANCEL ENVIRONMENT',
  },
  cancelDeploymentRequest: { ids: deployed, event: 'TRIGGER_CANCEL ENVIRONMENT' },
  createEnvironmentDeploymentStage: { ids: here, body: named, event: 'CREATE ENVIRONMENT DEPLOYMENT_STAGE' },
  editDeploymentStage: { ids: stage, body: named, event: 'UPDATE ENVIRONMENT DEPLOYMENT_STAGE' },
  deleteDeploymentStage: { ids: stage, event: 'DELETE ENVIRONMENT DEPLOYMENT_STAGE' },
  moveAfterDeploymentStage: { ids: stages(0, 1), event: 'UPDATE ENVIRONMENT DEPLOYMENT_STAGE' },
  moveBeforeDeploymentStage: { ids: stages(3, 2), event: 'UPDATE ENVIRONMENT DEPLOYMENT_STAGE' },
  attachServiceToDeploymentStage: { ids: stage, event: 'UPDATE APPLICATION' },
};

function recipesOfService(Noun: string, create: (ids: Ids) => object): Recipes {
  const noun = Noun.toLowerCase();
  const NOUN = Noun.toUpperCase();
  const waiting = async (fixture: EventFixture): Promise<Ids> => fixture.deployed(noun);
  return {
    [`create${Noun}`]: { ids: here, body: (ids) => ({ ...named(), ...create(ids) }), event: `CREATE ${NOUN}` },
    [`edit${Noun}`]: { ids: here, body: (ids) => ({ ...named(), ...create(ids) }), event: `UPDATE ${NOUN}` },
    [`delete${Noun}`]: { ids: fresh, event: `DELETE ${NOUN}` },
    [`deploy${Noun}`]: { ids: fresh, event: `TRIGGER_DEPLOY ${NOUN}` },
    [`redeploy${Noun}`]: { ids: waiting, event: `TRIGGER_REDEPLOY ${NOUN}` },
    [`reboot${Noun}`]: { ids: waiting, event: `TRIGGER_RESTART ${NOUN}` },
    [`stop${Noun}`]: { ids: waiting, event: `TRIGGER_STOP ${NOUN}` },
    [`uninstall${Noun}`]: { ids: waiting, event: `TRIGGER_UNINSTALL ${NOUN}` },
  };
}

const waitingTerraform = async (fixture: EventFixture): Promise<Ids> => fixture.deployed('terraform');

export const serviceRecipes: Recipes = {
  ...recipesOfService('Application', () => ({ ...source, dockerfile_path: 'Dockerfile' })),
  ...recipesOfService('Container', ({ containerRegistryId }) => ({
    registry_id: containerRegistryId,
    image_name: 'cache',
    tag: '7',
  })),
  // There is no operation that restarts a job.
  ...without(
    'rebootJob',
    recipesOfService('Job', ({ containerRegistryId }) => ({
      healthchecks: {},
      source: { image: { registry_id: containerRegistryId, image_name: 'cache', tag: '7' } },
      schedule: { on_start: {} },
    })),
  ),
  ...recipesOfService('Database', () => ({ type: 'POSTGRESQL', version: '16', mode: 'CONTAINER' })),
  cleanFailedJobs: { ids: here, body: ({ jobId }) => ({ job_ids: [jobId] }), event: '' },
  cleanFailedJob: { ids: here, event: '' },
  createHelm: { ids: here, body: () => ({ ...named(), source }), event: 'CREATE HELM' },
  editHelm: { ids: here, body: () => ({ ...named(), source }), event: 'UPDATE HELM' },
  deleteHelm: { ids: fresh, event: 'DELETE HELM' },
  createTerraform: { ids: here, body: () => ({ ...named(), terraform_files_source: source }), event: 'CREATE TERRAFORM' },
  editTerraform: { ids: here, body: () => ({ ...named(), terraform_files_source: source }), event: 'UPDATE TERRAFORM' },
  deleteTerraform: { ids: fresh, event: 'DELETE TERRAFORM' },
  deployTerraform: { ids: fresh, event: 'TRIGGER_DEPLOY TERRAFORM' },
  redeployTerraform: { ids: waitingTerraform, event: 'TRIGGER_REDEPLOY TERRAFORM' },
  uninstallTerraform: { ids: waitingTerraform, event: 'TRIGGER_UNINSTALL TERRAFORM' },
};

function without(id: string, recipes: Recipes): Recipes {
  return Object.fromEntries(Object.entries(recipes).filter(([name]) => name !== id));
}

const sorts = [
  { Sort: 'EnvironmentVariable', segment: 'environmentVariable', word: 'VARIABLE' },
  { Sort: 'Secret', segment: 'secret', word: 'SECRET' },
] as const;

/**
 * Returns the operations on the variables and secrets of one scope. An override of a project is always refused, because
 * no scope is wider.
 */
function recipesOfScope(Noun: string): Recipes {
  const noun = Noun.toLowerCase();
  return Object.fromEntries(
    sorts.flatMap(({ Sort, segment, word }) => {
      const parameter = `${segment}Id`;
      const of = `${Noun.toUpperCase()} ${word}`;
      const own = making(parameter, (ids) => `/${noun}/${ids[`${noun}Id`]}/${segment}`, keyed);
      const ofProject = making(parameter, ({ projectId }) => `/project/${projectId}/${segment}`, keyed);
      const recipes: readonly (readonly [string, Recipe])[] = [
        [`create${Noun}${Sort}`, { ids: here, body: keyed, event: `CREATE ${of}` }],
        [`edit${Noun}${Sort}`, { ids: own, body: keyed, event: `UPDATE ${of}` }],
        [`delete${Noun}${Sort}`, { ids: own, event: `DELETE ${of}` }],
        [`create${Noun}${Sort}Alias`, { ids: own, body: keyed, event: `CREATE ${of}` }],
        [`create${Noun}${Sort}Override`, { ids: ofProject, body: () => ({ value: 'w' }), event: `CREATE ${of}` }],
      ];
      return Noun === 'Project' ? recipes.slice(0, -1) : recipes;
    }),
  );
}

const variable = (parent: string): Recipe['ids'] =>
  making('variableId', (ids) => `/${parent}/${ids[`${parent}Id`]}/environmentVariable`, keyed);
const vars = (scope: string) => () => ({
  overwrite: true,
  vars: [{ name: keyed().key, value: 'v', scope, is_secret: false }],
});
const at = (prefix: string) => (ids: Ids) => ({
  ...keyed(),
  is_secret: false,
  [`${prefix}_scope`]: 'APPLICATION',
  [`${prefix}_parent_id`]: ids['applicationId'],
});

export const variableRecipes: Recipes = {
  ...recipesOfScope('Project'),
  ...recipesOfScope('Environment'),
  ...recipesOfScope('Application'),
  ...recipesOfScope('Container'),
  ...recipesOfScope('Job'),
  importEnvironmentVariable: { ids: here, body: vars('APPLICATION'), event: 'CREATE APPLICATION VARIABLE' },
  importContainerEnvironmentVariable: { ids: here, body: vars('CONTAINER'), event: 'CREATE CONTAINER VARIABLE' },
  importJobEnvironmentVariable: { ids: here, body: vars('JOB'), event: 'CREATE JOB VARIABLE' },
  importEnvironmentVariables: {
    ids: here,
    query: ({ applicationId }) => `service_type=APPLICATION&service_id=${applicationId}`,
    body: vars('PROJECT'),
    event: 'CREATE PROJECT VARIABLE',
  },
  createVariable: { ids: here, body: at('variable'), event: 'CREATE APPLICATION VARIABLE' },
  editVariable: { ids: variable('environment'), body: keyed, event: 'UPDATE ENVIRONMENT VARIABLE' },
  deleteVariable: { ids: variable('project'), event: 'DELETE PROJECT VARIABLE' },
  createVariableAlias: { ids: variable('project'), body: at('alias'), event: 'CREATE APPLICATION VARIABLE' },
  createVariableOverride: { ids: variable('project'), body: at('override'), event: 'CREATE APPLICATION VARIABLE' },
};
