import { createHmac } from 'node:crypto';
import { DriverError } from '@davit/drivers';
import { statement } from '@davit/db';
import { makeFirstRunToken } from '../../packages/server/src/resources/account/index.ts';
import type { World } from './world.ts';

/** Ends each hostile text: what stands behind it on the same line is a neighbour. */
export const endMark = '¶';
const markup = `<img src=x onerror="window.harmed='img'"></script><script>window.harmed='script'</script>`;
/** Turns the direction of what follows, is markup, and has characters without width. */
export const hostile = `\u202e${markup}\u200b\u2066\ufeff${endMark}`;
/** A hostile text of this length without a place where a line could break. */
export const long = (length: number): string => hostile.replace(endMark, 'W'.repeat(length - hostile.length) + endMark);
const ansi = `\u001b[31mred\u001b[0m\u001b]0;title\u0007\u001b[2J\u009b1m`;

/** Begins each secret that is given to Davit. */
export const canary = 'canary4f7c';

/** The records that the addresses of pages name, and the secrets that Davit made. */
export interface Everything {
  readonly clusterId: string;
  readonly projectId: string;
  readonly made: readonly string[];
  readonly person: { readonly email: string; readonly password: string };
}

/** Fills a world with hostile texts and with secrets, wherever its API takes them. */
export async function fillWithEverything(world: World): Promise<Everything> {
  const { api, organization, server, production, services } = world;
  const admin = server.client(organization.tokens.ADMIN);
  const params = { organizationId: organization.id };
  const { project } = await api.call('getEnvironment', { params: { environmentId: production } });
  const made: string[] = [organization.tokens.READ, organization.tokens.DEPLOY, organization.tokens.WRITE];
  await fillOrganization(world, made);
  const clusterId = (await admin.call('listOrganizationCluster', { params })).results[0]?.id ?? '';
  await fillServices(world, project.id);
  made.push((await api.call('getDatabaseMasterCredentials', { params: { databaseId: services.orders } })).password);
  made.push(await push(world));
  await deployHostile(world);
  await admin.call('editOrganization', { params, body: { name: hostile, description: long(10_000) } });
  return { clusterId, projectId: project.id, made, person: await makePerson(world) };
}

async function fillOrganization({ server, organization, production }: World, made: string[]): Promise<void> {
  const admin = server.client(organization.tokens.ADMIN);
  const params = { organizationId: organization.id };
  const description = long(10_000);
  const name = long(255);
  const secrets = { username: hostile, password: `${canary}-registry` };
  const url = 'https://registry.example.org';
  await admin.call('createContainerRegistry', {
    params,
    body: { name, description, url, kind: 'GENERIC_CR', config: secrets },
  });
  await admin.call('createHelmRepository', {
    params,
    body: { name, description, url, kind: 'HTTPS', skip_tls_verification: false, config: secrets },
  });
  await admin.call('createGitToken', {
    params,
    body: { name, description, type: 'GENERIC', git_api_url: 'https://git.example.org', token: `${canary}-git` },
  });
  const aws = { access_key_id: hostile, secret_access_key: `${canary}-aws` };
  await admin.call('createAWSCredentials', { params, body: { name, type: 'AWS_STATIC', ...aws } });
  await admin.call('createOrganizationCustomRole', { params, body: { name, description } });
  const token = await admin.call('createOrganizationApiToken', { params, body: { name, description, scope: 'READ' } });
  const invited = await admin.call('postInviteMember', { params, body: { email: 'grace@example.org', role: 'VIEWER' } });
  made.push(token.token, new URL(invited.invitation_link).hash.slice(1));
  await admin.call('createOrganizationLabelsGroup', {
    params,
    body: { name, labels: [{ key: 'team', value: 'x'.repeat(63), propagate_to_cloud_provider: false }] },
  });
  await admin.call('createOrganizationAnnotationsGroup', {
    params,
    body: { name, annotations: [{ key: 'example.org/mesh', value: description }], scopes: ['PODS'] },
  });
  const target_url = `https://hooks.example.org/${'W'.repeat(1900)}`;
  const events = ['DEPLOYMENT_FAILURE'] as const;
  const { id: webhookId } = await admin.call('createOrganizationWebhook', {
    params,
    body: { target_url, events: [...events], target_secret: `${canary}-webhook`, description, project_names_filter: [hostile] },
  });
  await server.database.database.run(attempted, [webhookId, target_url, hostile]);
  const { project } = await admin.call('getEnvironment', { params: { environmentId: production } });
  await admin.call('createEnvironment', { params: { projectId: project.id }, body: { name: long(200), mode: 'PREVIEW' } });
}

/** Writes an attempt to deliver, which otherwise only deliveries do. */
const attempted = statement(
  'test_console_hostile_attempt_add',
  `with delivery as (
     insert into webhook_delivery (webhook_id, event, payload, due_at) values ($1, 'DEPLOYMENT_FAILURE', '{}', null) returning id)
   insert into webhook_attempt (webhook_id, delivery_id, kind, event, target_url, request, status_code, response_body)
   select $1, id, 'STANDARD', 'DEPLOYMENT_FAILURE', $2, '{}', 500, $3 from delivery`,
);

async function fillServices({ api, production, services }: World, projectId: string): Promise<void> {
  const description = long(10_000);
  for (const [scope, variable_parent_id] of [
    ['PROJECT', projectId],
    ['ENVIRONMENT', production],
    ['APPLICATION', services.api],
  ] as const) {
    const place = { variable_scope: scope, variable_parent_id };
    await api.call('createVariable', {
      body: { ...place, key: `HOSTILE_${scope}_${'K'.repeat(200)}`, value: long(10_000), is_secret: false, description: hostile },
    });
    await api.call('createVariable', {
      body: { ...place, key: `SECRET_${scope}`, value: `${canary}-${scope.toLowerCase()}`, is_secret: true },
    });
  }
  const file = { value: `${canary}-file`, mount_path: `/run/${'W'.repeat(200)}`, is_secret: true };
  await api.call('createVariable', {
    body: { key: 'SECRET_FILE', variable_scope: 'APPLICATION', variable_parent_id: services.web, ...file },
  });
  await api.call('editEnvironment', { params: { environmentId: production }, body: { name: long(255) } });
  await api.call('editProject', { params: { projectId }, body: { name: hostile, description } });
  const { results: stages } = await api.call('listEnvironmentDeploymentStage', { params: { environmentId: production } });
  for (const [index, { id: deploymentStageId }] of stages.entries()) {
    const body = { name: `${index} ${long(200)}`, description: hostile };
    await api.call('editDeploymentStage', { params: { deploymentStageId }, body });
  }
  await api.call('editApplication', {
    params: { applicationId: services.api },
    body: { name: long(255), description, arguments: [long(1000), hostile], entrypoint: hostile },
  });
  await api.call('editApplication', { params: { applicationId: services.web }, body: { name: `web ${hostile}`, description } });
  await api.call('editDatabase', { params: { databaseId: services.orders }, body: { name: `orders ${hostile}`, description } });
  await api.call('addBackupDatabase', { params: { databaseId: services.orders }, body: { name: long(200), message: hostile } });
  const schedule = { on_start: { entrypoint: hostile, arguments: [long(1000)] } };
  await api.call('editJob', { params: { jobId: services.migrate }, body: { name: `job ${hostile}`, description, schedule } });
  const domain = `${'w'.repeat(60)}.${'w'.repeat(60)}.davit-test.invalid`;
  await api.call('createApplicationCustomDomain', { params: { applicationId: services.web }, body: { domain } });
}

/** Sends a push with a hostile message, and writes a hostile reason of its verdict. Returns the webhook's secret. */
async function push({ api, services, production, proxy, server }: World): Promise<string> {
  const { url, secret } = await api.call('createServiceGitWebhook', { params: { serviceId: services.web }, body: {} });
  const repository = { clone_url: 'https://git.example.org/acme/web.git', default_branch: 'main' };
  const commit = { id: 'a'.repeat(40), message: long(10_000), author: { name: hostile, email: hostile } };
  const event = { ref: 'refs/heads/main', after: commit.id, before: 'b'.repeat(40), repository, commits: [commit] };
  const body = JSON.stringify({ ...event, head_commit: commit, pusher: { name: hostile } });
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${signature}` };
  const { status } = await fetch(`${proxy.baseUrl}${new URL(url).pathname}`, { method: 'POST', body, headers });
  if (status >= 300) throw new Error(`the push was answered with ${status}`);
  await server.database.database.run(ignored, [services.web, production, hostile, long(10_000)]);
  return secret;
}

/** Nothing works off git events here: writes what the worker writes for a service without `auto_deploy`. */
const ignored = statement(
  'test_console_hostile_git_event_done',
  `with event as (update git_event set status = 'DONE', due_at = null where status = 'WAITING' returning id)
   insert into git_verdict (event_id, service_id, service_name, environment_id, environment_name, verdict, reason)
   select id, $1, $3, $2, $3, 'IGNORED', $4 from event`,
);

/** Deploys everything: one service fails with hostile words, another one prints hostile lines and its own secrets. */
async function deployHostile(world: World): Promise<void> {
  const { api, production, services } = world;
  const { fake } = world.server;
  fake.commitMessage = long(10_000);
  const failing = new DriverError({
    cause: 'BUILD_COMMAND_FAILED',
    message: `RUN ${canary}-project ${hostile}`,
    evidence: { lines: [`${ansi}${long(10_000)}`, `#1 ${hostile}`, `${canary}-environment`], original: `${ansi}${long(1000)}` },
  });
  fake.script = {
    before: ({ method, service }) => {
      if (method === 'awaitReady' && service === services.web) throw failing;
    },
    after: ({ method, service }) => {
      if (method !== 'start' || service !== services.migrate) return;
      for (const instance of fake.instances) if (instance.service === service) fake.kill(instance.id, 0);
    },
  };
  await api.call('deployEnvironment', { params: { environmentId: production } });
  await world.hasState(production, 'DEPLOYMENT_ERROR');
  const [instance] = fake.instances.filter(({ service }) => service === services.api).slice(-1);
  for (const line of [
    hostile,
    `${ansi} ${hostile}`,
    long(10_000),
    `${canary}-project ${canary}-environment ${canary}-application`,
    'the last line',
  ])
    fake.print(instance?.id ?? '', line);
}

/** Makes the first account, whose name and organization are hostile. */
async function makePerson({ server }: World): Promise<Everything['person']> {
  const token = (await makeFirstRunToken(server.api.deps)) ?? '';
  const email = 'ada@example.org';
  const password = `${canary} of a person`;
  const body = { token, email, password, name: long(255), organization_name: long(255) };
  await server.client().call('createFirstAccount', { body });
  return { email, password };
}
