import { createHmac } from 'node:crypto';
import { statement } from '@davit/db';
import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endJobs } from './shop.ts';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();

/** Nothing works off git events here: writes what the worker writes for a service without `auto_deploy`. */
const ignored = statement(
  'test_console_git_event_done',
  `with event as (update git_event set status = 'DONE', due_at = null where status = 'WAITING' returning id)
   insert into git_verdict (event_id, service_id, service_name, environment_id, environment_name, verdict, reason)
   select id, $1, 'worker', $2, 'production', 'IGNORED', 'auto_deploy is off' from event`,
);

/** Writes an attempt to deliver, which otherwise only deliveries do. */
const attempted = statement(
  'test_console_webhook_attempt_add',
  `with delivery as (
     insert into webhook_delivery (webhook_id, event, payload, due_at) values ($1, 'DEPLOYMENT_FAILURE', '{}', null) returning id)
   insert into webhook_attempt (webhook_id, delivery_id, kind, event, target_url, request, status_code)
   select $1, id, 'STANDARD', 'DEPLOYMENT_FAILURE', 'https://hooks.example.org/davit', '{}', 500 from delivery`,
);

test('a push says why it did not deploy, and its commit is deployed by hand', async () => {
  const { api, production, services, proxy, server } = world;
  const page = await world.open(`/environment/${production}/service/${services.worker}/git-events`);
  await page.getByText('No push yet').waitFor();
  await button(page, 'Show its address').click();
  const { url, secret } = await api.call('createServiceGitWebhook', { params: { serviceId: services.worker }, body: {} });
  await page.getByRole('dialog').getByText(url, { exact: true }).waitFor();
  await looksAt(page, 'git-webhook');
  // A new secret is asked for once, as deliveries with the present one are refused from then on.
  await button(page, 'New secret').click();
  await page.getByText('no push is seen until the git host has the new one').waitFor();
  await looksAt(page, 'git-webhook-secret', [390]);
  await button(page, 'Leave it').click();
  await page.getByRole('dialog').getByText(secret, { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  expect(await page.evaluate<string>('document.documentElement.outerHTML')).not.toContain(secret);

  const commit = 'a'.repeat(40);
  const repository = { clone_url: 'https://git.example.org/acme/worker.git', default_branch: 'main' };
  const body = JSON.stringify({ ref: 'refs/heads/main', after: commit, before: 'b'.repeat(40), repository, commits: [] });
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${signature}` };
  const path = new URL(url).pathname;
  expect((await fetch(`${proxy.baseUrl}${path}`, { method: 'POST', body, headers })).status).toBeLessThan(300);
  await server.database.database.run(ignored, [services.worker, production]);
  await page.reload();
  await page.getByText('Ignored').waitFor();
  await page.getByText('auto_deploy is off').waitFor();
  await looksAt(page, 'git-events');
  expect(await button(page, 'Deploy this commit').getAttribute('aria-disabled')).toBeNull();
  await page.close();
}, 60_000);

test('a job is run by hand, and its runs are listed; previews are listed and deleted', async () => {
  const { api, production, services, server } = world;
  endJobs(server, services.migrate);
  const page = await world.open(`/environment/${production}/service/${services.migrate}/runs`);
  await page.getByRole('row', { name: /Deployment 1/ }).waitFor();
  await button(page, 'Run on_start now').click();
  await page.getByRole('row', { name: /Deployment 3/ }).waitFor();
  await looksAt(page, 'runs');

  const { project } = await api.call('getEnvironment', { params: { environmentId: production } });
  const body = { name: 'PR 12 shop: live', mode: 'PREVIEW' } as const;
  await api.call('createEnvironment', { params: { projectId: project.id }, body });
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/previews`);
  const row = page.getByRole('row', { name: /PR 12/ });
  await row.waitFor();
  await looksAt(page, 'previews');
  await row.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No previews').waitFor();
  expect((await api.call('listEnvironment', { params: { projectId: project.id } })).results).toHaveLength(2);
  await page.close();
}, 60_000);

test('webhooks are added, and a delivery that failed is tried again', async () => {
  const { api, organization, server } = world;
  const page = await world.open(`/organization/${organization.id}/webhooks`);
  await page.getByText('No webhooks yet').waitFor();
  await button(page, 'Add a webhook').click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Address').fill('nonsense');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await form.getByRole('alert').waitFor();
  await looksAt(page, 'webhook-form');
  await form.getByLabel('Address').fill('https://hooks.example.org/davit');
  await form.getByLabel('Secret').fill('canary-of-a-webhook');
  await form.getByLabel('Deployment started').uncheck();
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: 'https://hooks.example.org/davit' }).waitFor();
  const params = { organizationId: organization.id };
  const [webhook] = (await api.call('listOrganizationWebHooks', { params })).results;
  expect(webhook?.events).toHaveLength(3);
  await server.database.database.run(attempted, [webhook?.id ?? '']);
  await page.reload();
  await page.getByRole('row', { name: /Deployment failure/ }).waitFor();
  await looksAt(page, 'webhooks');
  expect(await page.evaluate<string>('document.documentElement.outerHTML')).not.toContain('canary');
  await button(page, 'Try again').click();
  await page.getByText('It is sent again.').waitFor();
  const reader = await world.open(`/organization/${organization.id}/webhooks`, organization.tokens.READ);
  await expect.poll(() => button(reader, 'Add a webhook').getAttribute('title')).toMatch(/READ/);
  await reader.close();
  await page.close();
}, 60_000);
