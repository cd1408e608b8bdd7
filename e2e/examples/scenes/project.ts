import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';

const officeHours = {
  auto_stop: true,
  timezone: 'Europe/Paris',
  start_time: '1970-01-01T07:00:00Z',
  stop_time: '1970-01-01T20:00:00Z',
  weekdays: ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY'],
};

/** The project, its environments production, staging and development, and their rules. */
export async function project(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const made = await recorder.call(api, 'createProject', { body: { name: 'shop', description: 'The web shop' } });
  recorder.ids = { ...recorder.ids, projectId: made.id };
  await recorder.call(api, 'getProject');
  await recorder.call(api, 'listProject');
  await recorder.call(api, 'editProject', { body: { description: 'The web shop and what it needs' } });
  const { clusterId: rack } = recorder.ids;
  const clusters = await recorder.prepare(api, 'listOrganizationCluster');
  const local = clusters.results.find(({ name }) => name === 'Local')?.id;
  const environment = (name: string, mode: string, cluster_id?: string) =>
    recorder.call(api, 'createEnvironment', { body: { name, mode, cluster_id } });
  const production = await environment('production', 'PRODUCTION', local);
  const staging = await environment('staging', 'STAGING', rack);
  const development = await environment('development', 'DEVELOPMENT', local);
  recorder.ids = { ...recorder.ids, environmentId: production.id, stagingId: staging.id, developmentId: development.id };
  await recorder.call(api, 'getEnvironment');
  await recorder.call(api, 'listEnvironment');
  await recorder.call(api, 'editEnvironment', { params: { environmentId: staging.id }, body: { auto_preview: true } });
  await rules(shop, api);
}

async function rules({ recorder }: ShopServer, api: Caller): Promise<void> {
  const { clusterId, stagingId = '' } = recorder.ids;
  await recorder.call(api, 'getEnvironmentDeploymentRule', { params: { environmentId: stagingId } });
  const params = { environmentId: stagingId, deploymentRuleId: stagingId };
  await recorder.call(api, 'editEnvironmentDeploymentRule', { params, body: officeHours });
  const body = { name: 'office hours', mode: 'STAGING', cluster_id: clusterId, ...officeHours };
  const first = await recorder.call(api, 'createDeploymentRule', { body });
  recorder.ids = { ...recorder.ids, deploymentRuleId: first.id };
  await recorder.call(api, 'getProjectDeploymentRule');
  await recorder.call(api, 'editProjectDeployemtnRule', { body: { ...body, description: 'Nobody tests at night' } });
  const second = await recorder.prepare(api, 'createDeploymentRule', {
    body: { ...body, name: 'previews', wildcard: 'preview-*' },
  });
  await recorder.call(api, 'listProjectDeploymentRules');
  await recorder.call(api, 'updateDeploymentRulesPriorityOrder', {
    body: { project_deployment_rule_ids_in_order: [second.id, first.id] },
  });
  await recorder.call(api, 'deleteProjectDeploymentRule', { params: { deploymentRuleId: second.id } });
}

/** The stages in which the services of production are deployed. */
export async function stages({ recorder }: ShopServer, api: Caller): Promise<void> {
  const made = await recorder.call(api, 'createEnvironmentDeploymentStage', {
    body: { name: 'Mail', description: 'After the shop' },
  });
  const listed = await recorder.call(api, 'listEnvironmentDeploymentStage');
  recorder.ids = { ...recorder.ids, deploymentStageId: made.id, stageId: listed.results[0]?.id ?? '' };
  await recorder.call(api, 'getDeploymentStage');
  await recorder.call(api, 'editDeploymentStage', { body: { name: 'Mail', description: 'What sends mails' } });
  await recorder.call(api, 'moveAfterDeploymentStage');
  await recorder.call(api, 'moveBeforeDeploymentStage');
  const { containerId = '' } = recorder.ids;
  await recorder.call(api, 'attachServiceToDeploymentStage', { params: { serviceId: containerId }, body: { is_skipped: false } });
  await recorder.call(api, 'getServiceDeploymentStage', { params: { serviceId: containerId } });
  const former = await recorder.prepare(api, 'createEnvironmentDeploymentStage', { body: { name: 'former' } });
  await recorder.call(api, 'deleteDeploymentStage', { params: { deploymentStageId: former.id } });
}
