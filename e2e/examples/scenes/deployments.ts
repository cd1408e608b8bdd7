import { createHmac, randomUUID } from 'node:crypto';
import { DriverError } from '@davit/drivers';
import { statement } from '@davit/db';
import { GitWorker } from '../../../packages/server/src/resources/git-event/work.ts';
import type { Caller } from '../recorder.ts';
import type { ShopServer } from '../shop.ts';
import { nouns, placeOf, type Noun } from './services.ts';

const backupIsGood = statement(
  'examples_backup_is_good',
  `update database_backup set status = 'GOOD', proven_at = clock_timestamp(), finished_at = clock_timestamp() where id = $1`,
);
const underWay = /_QUEUED|"(WAITING|QUEUED|BUILDING|DEPLOYING|STOPPING|RESTARTING|DELETING|CANCELING|UNINSTALLING|ONGOING)"/;

/** Waits until nothing is deployed in an environment any more. */
export async function settled(
  { recorder }: ShopServer,
  api: Caller,
  environmentId = recorder.ids['environmentId'] ?? '',
): Promise<void> {
  const params = { environmentId };
  await recorder.until(api, 'listDeploymentRequestByEnvironmentId', { params }, ({ results }) => results.length === 0);
  await recorder.until(api, 'getEnvironmentStatuses', { params }, (_answer, text) => !underWay.test(text));
}

const used = { cpuMillicores: 120, memoryMiB: 96 };

/** Lets instances use resources as soon as they start, and the runs of the job print a line and end well. */
function instancesWork(shop: ShopServer): void {
  const { local } = shop;
  local.script = {
    after: ({ method, service }) => {
      if (method !== 'start') return;
      for (const { id } of local.instances.filter((one) => one.service === service)) local.use(id, used);
      endRuns(shop, service);
    },
  };
}

function endRuns({ local }: ShopServer, service: string): void {
  for (const instance of local.instances) {
    const isRun = local.workloads.get(instance.id)?.runsOnce === true;
    if (!isRun || instance.service !== service || instance.state !== 'RUNNING') continue;
    local.print(instance.id, 'the tables are up to date');
    local.kill(instance.id, 0);
  }
}

/** Runs the job for as long as it takes to measure what it uses. Its other runs end too soon for that. */
async function longRun(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, local } = shop;
  const { jobId = '' } = recorder.ids;
  const working = local.script;
  local.script = {
    after: ({ method, service }) => {
      if (method !== 'start' || service !== jobId) return;
      for (const { id } of local.instances.filter((one) => one.service === jobId)) local.use(id, used);
    },
  };
  await recorder.prepare(api, 'redeployJob');
  await recorder.until(api, 'getJobMetrics', {}, ({ results }) => results.some(({ cpu }) => cpu !== null));
  local.script = working;
  endRuns(shop, jobId);
  await settled(shop, api);
}

/** Production is deployed for the first time. */
export async function firstDeployment(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, local } = shop;
  instancesWork(shop);
  await recorder.call(api, 'deployEnvironment');
  await settled(shop, api);
  const history = await recorder.prepare(api, 'listApplicationDeploymentHistoryV2');
  recorder.ids = { ...recorder.ids, releaseId: /"release_id":"([^"]+)"/.exec(JSON.stringify(history))?.[1] ?? '' };
  for (const { id, service } of local.instances) {
    if (service === recorder.ids['applicationId']) local.print(id, 'GET /baskets/17 200 in 12 ms');
    if (service === recorder.ids['containerId']) local.print(id, 'sent the confirmation of order 4711');
  }
  await eachService(shop, api);
  await waiting(shop, api);
  await failing(shop, api);
  await images(shop, api);
  await backups(shop, api);
}

/** Deploys, redeploys, stops and restarts each service. */
async function eachService(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const act = async (id: string, body?: object, environmentId?: string) => {
    const answer = await recorder.call(api, id, body === undefined ? {} : { body });
    await settled(shop, api, environmentId);
    return answer;
  };
  const commits = await recorder.prepare(api, 'listApplicationCommit');
  const configurations = await recorder.prepare(api, 'listTerraformCommit');
  const chosen: Readonly<Record<Noun, object>> = {
    Application: { git_commit_id: commits.results[0]?.['git_commit_id'] },
    Container: { image_tag: '1.4.0' },
    Database: {},
    Job: { image_tag: '1.4.0' },
    Helm: { chart_version: '20.6.1' },
    Terraform: { git_commit_id: configurations.results[0]?.['git_commit_id'] },
  };
  for (const noun of nouns) {
    const environmentId = placeOf(shop, noun).params?.['environmentId'];
    await act(`deploy${noun}`, chosen[noun], environmentId);
    await act(`redeploy${noun}`, undefined, environmentId);
    if (noun !== 'Terraform') await act(`stop${noun}`, undefined, environmentId);
    if (noun !== 'Terraform') await recorder.prepare(api, `deploy${noun}`);
    await settled(shop, api, environmentId);
    if (['Application', 'Container', 'Database'].includes(noun)) await act(`reboot${noun}`);
  }
  const { applicationId, containerId, databaseId, jobId } = recorder.ids;
  await act('deployAllServices', {
    applications: [{ application_id: applicationId }],
    jobs: [{ id: jobId }],
    databases: [databaseId],
  });
  await act('rebootServices', { application_ids: [applicationId], container_ids: [containerId] });
  await act('stopSelectedServices', { container_ids: [containerId] });
  await act('redeployEnvironment');
  await act('cleanFailedJob');
  await act('cleanFailedJobs', { job_ids: [jobId] });
  const redeployed = await recorder.prepare(api, 'redeployContainer');
  const params = { deploymentRequestId: String(redeployed['deployment_request_id']) };
  await recorder.follow(api, 'streamDeployment', { params }, 'END');
  await settled(shop, api);
}

/** One deployment runs, another one waits for it. */
async function waiting(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, local } = shop;
  const ending = local.script;
  const holder: { release: () => void } = { release: () => undefined };
  const released = new Promise<void>((resolve) => (holder.release = resolve));
  local.script = {
    ...ending,
    before: async ({ method, service }) => {
      if (method === 'start' && service === recorder.ids['applicationId']) await released;
    },
  };
  const { containerId } = recorder.ids;
  await recorder.prepare(api, 'editApplication', { body: { memory: 896 } });
  const first = await recorder.prepare(api, 'deployApplication');
  await recorder.until(api, 'getApplicationStatus', {}, (_answer, text) => text.includes('DEPLOYING'));
  const second = await recorder.prepare(api, 'deployContainer');
  await recorder.call(api, 'listDeploymentRequestByEnvironmentId');
  await recorder.call(api, 'listDeploymentRequestByServiceId', { params: { serviceId: containerId ?? '' } });
  const query = { deploymentRequestId: String(first['deployment_request_id']) };
  await recorder.call(api, 'getDeploymentStatusByDeploymentRequestId', { query });
  const waits = { deploymentRequestId: String(second['deployment_request_id']) };
  await recorder.call(api, 'cancelDeploymentRequest', { params: waits });
  await recorder.call(api, 'cancelEnvironmentDeployment', { body: { force_cancel: false } });
  holder.release();
  local.script = ending;
  await settled(shop, api);
}

/** A deployment fails, as the new version listens on another port; the former release is deployed again. */
async function failing(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, local } = shop;
  const ending = local.script;
  local.script = {
    ...ending,
    before: ({ method, service }) => {
      if (method !== 'awaitReady' || service !== recorder.ids['applicationId']) return;
      const lines = ['connected to orders', 'listening on 127.0.0.1:8080'];
      const evidence = { lines, listening: ['127.0.0.1:8080'] };
      throw new DriverError({ cause: 'PORT_NOT_LISTENING', message: 'Nothing listens on port 8080.', evidence });
    },
  };
  await recorder.prepare(api, 'editApplication', { body: { memory: 1024 } });
  await recorder.prepare(api, 'deployApplication');
  await settled(shop, api);
  local.script = ending;
}

/** New tags of images, as a pipeline reports them. */
async function images(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder } = shop;
  const before = await recorder.prepare(api, 'listEnvironment');
  await recorder.call(api, 'autoDeployContainerEnvironments', { body: { image_name: 'shop/mail', tag: '1.5.0' } });
  await settled(shop, api);
  await recorder.call(api, 'autoDeployJobEnvironments', { body: { image_name: 'shop/migrate', tag: '1.5.0' } });
  await settled(shop, api);
  await recorder.call(api, 'previewContainerEnvironments', { body: { image_name: 'shop/mail', tag: 'pull-17' } });
  const after = await recorder.prepare(api, 'listEnvironment');
  const known = before.results.map(({ id }) => id);
  for (const { id } of after.results) {
    if (known.includes(id)) continue;
    await settled(shop, api, id);
    await recorder.prepare(api, 'deleteEnvironment', { params: { environmentId: id } });
    await recorder.until(api, 'listEnvironment', {}, ({ results }) => results.every((one) => one.id !== id));
  }
}

/** Pushes of the repository are reported to Davit by a webhook. */
export async function pushes(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, server } = shop;
  const webhook = await recorder.call(api, 'createServiceGitWebhook', { body: {} });
  const secret = recorder.replace(webhook['secret'], '<secret of the webhook>');
  const push = {
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    after: 'c0ffee'.padEnd(40, '0'),
    forced: false,
    pusher: { name: 'grace' },
  };
  const body = JSON.stringify(push);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'push',
    'x-github-delivery': randomUUID(),
    'x-hub-signature-256': `sha256=${signature}`,
  };
  const received = await fetch(`${server.baseUrl}${new URL(String(webhook['url'])).pathname}`, { method: 'POST', headers, body });
  if (!received.ok) throw new Error(`the push was refused: ${await received.text()}`);
  const worker = new GitWorker(server.api.deps, { warn: () => undefined });
  await recorder.until(api, 'listServiceGitEvents', {}, ({ results }) => {
    worker.look();
    return results.length > 0 && results.every((one) => one['status'] !== 'WAITING');
  });
  await worker.stop();
  await recorder.call(api, 'listServiceGitEvents');
  await recorder.call(api, 'listOrganizationGitEvents');
  await recorder.call(api, 'getServiceGitWebhookStatus');
  await recorder.call(api, 'syncServiceGitWebhook');
}

/** A backup of the database, which is restored. */
async function backups(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, server } = shop;
  const made = await recorder.call(api, 'addBackupDatabase', {
    body: { name: 'before 1.5.0', message: 'Before the tables change' },
  });
  await recorder.until(api, 'listDatabaseBackup', {}, (_answer, text) => !/"(QUEUED|RUNNING|ONGOING|IN_PROGRESS)"/.test(text));
  await server.database.database.run(backupIsGood, [made.id]);
  await recorder.call(api, 'listDatabaseBackup');
  await recorder.call(api, 'listEnvironmentDatabaseBackup');
  await recorder.call(api, 'restoreDatabase', { body: { backup_id: made.id, safety_backup: false } });
  await settled(shop, api);
  await recorder.call(api, 'listDatabaseRestore');
  const former = await recorder.prepare(api, 'addBackupDatabase', { body: { name: 'former', message: '' } });
  await server.database.database.run(backupIsGood, [former.id]);
  await recorder.call(api, 'removeDatabaseBackup', { params: { backupId: former.id } });
}

const perService: Readonly<Record<Noun, readonly string[]>> = {
  Application: ['Status', 'Metrics'],
  Container: ['Status', 'Metrics'],
  Database: ['Status', 'Metrics', 'MasterCredentials'],
  Job: ['Status', 'Metrics'],
  Helm: ['Status', 'KubernetesServices'],
  Terraform: ['Resources'],
};

/** The address of a container that is on the internet. It is deleted again. */
async function linksOfContainer({ recorder }: ShopServer, api: Caller): Promise<void> {
  const { id } = await recorder.prepare(api, 'createContainer', {
    body: {
      name: 'pictures',
      registry_id: recorder.ids['containerRegistryId'],
      image_name: 'shop/pictures',
      tag: '1.4.0',
      ports: [{ internal_port: 8080, external_port: 443, publicly_accessible: true, protocol: 'HTTP', is_default: true }],
      healthchecks: {},
    },
  });
  const params = { containerId: id };
  await recorder.call(api, 'listContainerLinks', { params });
  await recorder.prepare(api, 'deleteContainer', { params });
}

/** Reads how the services are, what they print and what happened. */
export async function reading(shop: ShopServer, api: Caller): Promise<void> {
  const { recorder, local } = shop;
  const credentials = await recorder.prepare(api, 'getDatabaseMasterCredentials');
  recorder.replace(credentials['password'], '<password of the database>');
  await longRun(shop, api);
  for (const noun of nouns) for (const part of perService[noun]) await recorder.call(api, `get${noun}${part}`);
  const { applicationId, projectId = '' } = recorder.ids;
  for (const { id, service } of local.instances) if (service === applicationId) local.print(id, 'POST /orders 201 in 48 ms');
  await recorder.until(api, 'listApplicationLog', {}, (_answer, text) => text.includes('POST /orders'));
  await recorder.until(api, 'listHelmLog', {}, ({ results }) => results.length > 1);
  for (const noun of ['Application', 'Container', 'Job', 'Helm']) await recorder.call(api, `list${noun}Log`);
  await recorder.follow(api, 'streamServiceLog', { query: { tail: '1' } }, 'SERVICE_LOG');
  await recorder.follow(api, 'streamOrganization', { query: { kinds: 'SERVICE_STATE', projectId } }, 'OPEN');
  await recorder.call(api, 'searchServiceLog', { query: { text: 'orders' } });
  for (const noun of nouns) {
    if (noun !== 'Terraform') await recorder.call(api, `list${noun}DeploymentHistory`);
    await recorder.call(api, `list${noun}DeploymentHistoryV2`);
  }
  for (const noun of ['Application', 'Helm']) await recorder.call(api, `list${noun}Links`);
  await linksOfContainer(shop, api);
  for (const noun of ['Application', 'Container', 'Database', 'Helm', 'Job']) {
    const place = noun === 'Helm' ? placeOf(shop, noun) : {};
    await recorder.call(api, `getEnvironment${noun}Status`, place);
  }
  const plain = [
    'listDatabaseApplication',
    'listEnvironmentDeploymentHistory',
    'listEnvironmentDeploymentHistoryV2',
    'listEnvironmentServicesLinks',
    'listEnvironmentLog',
    'listEnvironmentLogs',
    'listServicesByEnvironmentId',
    'getEnvironmentStatus',
    'getEnvironmentStatuses',
    'getEnvironmentStatusesWithStages',
    'getProjectEnvironmentsOverview',
    'getProjectEnvironmentServiceNumber',
    'getProjectEnvironmentsStatus',
    'getOrganizationOverview',
    'getOrganizationProjectStats',
    'listServicesByOrganizationId',
    'listEnvironmentsByOrganizationId',
    'getContainerRegistryContainerStatus',
    'getOrganizationEvents',
    'getOrganizationEventTargets',
    'getIngressDeploymentStatus',
    'compareServiceReleases',
  ];
  await recorder.prepare(api, 'editApplication', { body: { memory: 640 } });
  for (const id of plain) await recorder.call(api, id);
  const events = await recorder.until(api, 'listWebhookEvent', {}, ({ results }) => results.length > 0);
  await recorder.call(api, 'listWebhookEvent');
  await recorder.call(api, 'redeliverWebhookEvent', { params: { webhookEventId: events.results[0]?.id ?? '' } });
  await recorder.call(api, 'getServiceRelease');
}
