import { statement } from '@davit/db';
import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

/** The cluster in memory has no tools of databases: writes what the engine writes after a proof. */
const proven = statement(
  'test_backup_proven',
  `update database_backup set status = 'GOOD', attempt = attempt + 1, size_bytes = 4200000, server_version = '17.2',
          stored_at = clock_timestamp(), proven_at = clock_timestamp(), finished_at = clock_timestamp()
    where service_id = $1`,
);

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();

test('a custom domain says what to set in DNS and why it has no certificate', async () => {
  const { api, production, services } = world;
  const page = await world.open(`/environment/${production}/service/${services.web}/domains`);
  await page.getByText('No custom domain yet').waitFor();
  await button(page, 'Add a domain').click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Domain').fill('no domain');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  await form.getByRole('alert').waitFor();
  await looksAt(page, 'domains-form');
  await form.getByLabel('Domain').fill('shop.davit-test.invalid');
  await form.getByRole('button', { name: 'Add', exact: true }).click();
  const domain = page.getByRole('region', { name: 'shop.davit-test.invalid' });
  await domain.getByRole('cell', { name: 'CNAME', exact: true }).waitFor();
  await domain.getByText(/Not in DNS|DNS gave no answer/).waitFor();
  await domain.getByText('No certificate').waitFor();
  await looksAt(page, 'domains');
  await domain.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('No custom domain yet').waitFor();
  const left = await api.call('listApplicationCustomDomain', { params: { applicationId: services.web } });
  expect(left.results).toEqual([]);
  await page.close();
}, 60_000);

test('a database shows its address, keeps its password back, and is restored only by its typed name', async () => {
  const { api, production, services, organization, server } = world;
  const page = await world.open(`/environment/${production}/service/${services.orders}/connection`);
  await button(page, 'Show the password').click();
  const { password } = await api.call('getDatabaseMasterCredentials', { params: { databaseId: services.orders } });
  await page.getByText(password, { exact: true }).waitFor();
  await looksAt(page, 'connection');
  await button(page, 'Hide the password').click();
  expect(await page.evaluate<string>('document.documentElement.outerHTML + JSON.stringify(localStorage)')).not.toContain(
    password,
  );

  await page.getByRole('link', { name: 'Backups' }).click();
  await page.getByText('No backups yet').waitFor();
  await button(page, 'Make a backup').click();
  await page.getByRole('dialog').getByLabel('Name').fill('before the sale');
  await page.getByRole('dialog').getByRole('button', { name: 'Make a backup' }).click();
  const row = page.getByRole('row', { name: /before the sale/ });
  await row.getByText(/Queued|Running/).waitFor();
  await server.database.database.run(proven, [services.orders]);
  await row.getByText('Good').waitFor();
  await page.getByText('Last proof').waitFor();
  await looksAt(page, 'backups');
  await row.getByRole('button', { name: 'Restore' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Restore' }).getAttribute('aria-disabled')).toBe('true');
  await dialog.getByRole('textbox').fill('orders');
  await looksAt(page, 'backups-restore');
  await dialog.getByRole('button', { name: 'Restore' }).click();
  await page.getByRole('region', { name: 'Restores' }).waitFor();
  const reader = await world.open(`/environment/${production}/service/${services.orders}/backups`, organization.tokens.READ);
  await expect.poll(() => button(reader, 'Make a backup').getAttribute('title')).toMatch(/READ/);
  await reader.close();
  await page.close();
}, 60_000);
