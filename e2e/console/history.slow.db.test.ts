import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endJobs } from './shop.ts';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

test('deployments and changes of the configuration are on one line; a rollback says what it changes', async () => {
  const { api, production, services, server } = world;
  endJobs(server, services.migrate);
  const variable = { key: 'LEVEL', value: 'debug', is_secret: false, variable_scope: 'ENVIRONMENT' } as const;
  await api.call('createVariable', { body: { ...variable, variable_parent_id: production } });
  await api.call('editApplication', { params: { applicationId: services.web }, body: { memory: 700, max_running_instances: 3 } });
  await api.call('deployApplication', { params: { applicationId: services.web } });
  const page = await world.open(`/environment/${production}/service/${services.web}/history`);
  await page
    .getByRole('row', { name: /Deployment 3/ })
    .getByText('Deployed', { exact: true })
    .waitFor();
  await page.getByText('Variable LEVEL added').waitFor();
  const changed = page.getByRole('row', { name: /Settings changed/ });
  await changed.getByText('700').waitFor();
  await looksAt(page, 'history');
  await page.getByRole('button', { name: 'Deployments' }).click();
  await changed.waitFor({ state: 'detached' });
  expect(page.url()).toContain('only=deployments');

  // Two releases side by side, and the deployed one beside the settings as they are now.
  await page.getByRole('link', { name: 'Compare deployment 3' }).click();
  await page
    .getByRole('row', { name: /variables.LEVEL/ })
    .getByText('debug')
    .waitFor();
  await page
    .getByRole('row', { name: /memory/ })
    .getByText('700')
    .waitFor();
  await looksAt(page, 'compare');
  await page.getByLabel('Later').selectOption('');
  await page.getByText('Nothing differs').waitFor();
  await api.call('editApplication', { params: { applicationId: services.web }, body: { memory: 800 } });
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/service/${services.web}`);
  await page.getByRole('link', { name: 'Out of date' }).click();
  await page
    .getByRole('row', { name: /memory/ })
    .getByText('800')
    .waitFor();
  await page.getByRole('link', { name: 'History' }).first().click();

  // A rollback shows the server's plan, and the current release cannot be rolled back to.
  const first = page.getByRole('row', { name: /Deployment 1/ });
  const newest = page.getByRole('row', { name: /Deployment 3/ });
  expect(await newest.getByRole('button', { name: 'Roll back' }).getAttribute('title')).toBe('This release is deployed now.');
  await first.getByRole('button', { name: 'Roll back' }).click();
  const dialog = page.getByRole('dialog');
  await dialog
    .getByText(/memory/i)
    .first()
    .waitFor();
  await looksAt(page, 'history-rollback');
  await dialog.getByRole('button', { name: 'Roll back' }).click();
  await page
    .getByRole('row', { name: /Deployment 4/ })
    .getByText('Deployed', { exact: true })
    .waitFor();
  await page.close();
}, 60_000);

test('older deployments and changes are read by pages, and an old deployment has its page', async () => {
  const { api, production, services } = world;
  const applicationId = services.worker;
  for (let memory = 601; memory <= 645; memory += 1)
    await api.call('editApplication', { params: { applicationId }, body: { memory } });
  const restarts = async (): Promise<number> => {
    const input = { params: { applicationId }, query: { pageSize: 100 } };
    const { results } = await api.call('listApplicationDeploymentHistoryV2', input);
    return results.filter(({ status }) => status === 'RESTARTED').length;
  };
  for (let times = 1; times <= 22; times += 1) {
    await api.call('rebootApplication', { params: { applicationId } });
    await expect.poll(restarts, { timeout: 20_000 }).toBe(times);
  }
  const older = (page: Page) => page.getByRole('button', { name: /^Older/ });
  const page = await world.open(`/environment/${production}/service/${applicationId}/history?only=deployments`);
  const rows = page.getByRole('row', { name: /^Deployment \d/ });
  await expect.poll(() => rows.count()).toBe(20);
  await looksAt(page, 'history-older');
  await older(page).click();
  await expect.poll(() => rows.count()).toBe(23);
  await older(page).waitFor({ state: 'detached' });
  // The changes before the first deployment are there, once they are read.
  await page.getByRole('button', { name: 'All', exact: true }).click();
  const changes = page.getByRole('row', { name: /Settings changed/ });
  await older(page).waitFor();
  const entries = page.getByRole('row');
  while ((await changes.count()) < 45) {
    const before = await entries.count();
    await older(page).click();
    const isRead = async (): Promise<boolean> => (await entries.count()) > before || (await older(page).count()) === 0;
    await expect.poll(isRead, { timeout: 10_000 }).toBe(true);
  }
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/deployments`);
  await expect.poll(() => rows.count()).toBe(20);
  await older(page).click();
  await page.getByRole('link', { name: 'Deployment 1', exact: true }).waitFor();
  await older(page).waitFor({ state: 'detached' });
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/deployment/${production}-1`);
  await page.getByRole('heading', { name: 'Deployment 1', level: 1 }).waitFor();
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/deployment/${production}-999`);
  await page.getByText('This environment has no deployment with this number.').waitFor();
  await page.close();
}, 120_000);
