import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first();
const dialog = (page: Page) => page.getByRole('dialog');
const confirm = (page: Page, name: string) => dialog(page).getByRole('button', { name, exact: true }).click();
const isClosed = (page: Page) => dialog(page).waitFor({ state: 'detached' });
const tab = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name, exact: true }).click();

async function openOrganization(page: string, scope: 'ADMIN' | 'READ' = 'ADMIN'): Promise<Page> {
  const { id, tokens } = world.organization;
  return world.open(`/organization/${id}/${page}`, tokens[scope]);
}

test('people are invited by a link that is shown once, a role gets rights, and a token is shown once', async () => {
  const { organization, api } = world;
  const page = await openOrganization('members');
  await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  await page.getByText('No invitation yet').waitFor();
  await looksAt(page, 'members');
  await button(page, 'New invitation').click();
  await dialog(page).getByLabel('E-mail address').fill('nobody');
  await dialog(page).getByLabel('Role').selectOption({ label: 'DevOps' });
  await confirm(page, 'Create invitation');
  await expect.poll(() => dialog(page).getByLabel('E-mail address').getAttribute('aria-invalid')).toBe('true');
  await dialog(page).getByLabel('E-mail address').fill('grace@example.org');
  await looksAt(page, 'invitation-new');
  await confirm(page, 'Create invitation');
  await page.getByRole('heading', { name: 'The invitation’s link' }).waitFor();
  const link = await page.locator('.once').textContent();
  expect(link).toContain('/console/invitation#');
  // A secret is not closed away by Escape.
  await page.keyboard.press('Escape');
  await page.getByText('It works once').waitFor();
  await looksAt(page, 'invitation-link');
  await confirm(page, 'I have stored it');
  await button(page, 'Delete grace@example.org').waitFor();
  expect(await page.evaluate<string>('document.body.innerText + location.href')).not.toContain(link);
  await button(page, 'Delete grace@example.org').click();
  await confirm(page, 'Delete');
  await button(page, 'Delete grace@example.org').waitFor({ state: 'detached' });

  await tab(page, 'Roles');
  await button(page, 'New role').click();
  await dialog(page).getByLabel('Name').fill('Shop team');
  await confirm(page, 'Create role');
  await button(page, 'Rights of Shop team').click();
  const shop = dialog(page).getByRole('group', { name: 'Project Shop' });
  await shop.getByLabel('Production environments').selectOption('DEPLOYER');
  await shop.getByLabel('Staging environments').selectOption('MANAGER');
  await looksAt(page, 'role-rights');
  await confirm(page, 'Save');
  await isClosed(page);
  await page.getByText('Shop: ').waitFor();
  await looksAt(page, 'roles');

  await tab(page, 'API tokens');
  await button(page, 'New API token').click();
  await dialog(page).getByLabel('Name').fill('pipeline');
  await dialog(page).getByLabel('Rights').selectOption('');
  await dialog(page).getByLabel('Role').selectOption({ label: 'Shop team' });
  await dialog(page).getByLabel('Expires').fill('2099-12-31');
  await confirm(page, 'Create API token');
  await page.getByRole('heading', { name: 'The new API token' }).waitFor();
  const token = (await page.locator('.once').textContent()) ?? '';
  await confirm(page, 'I have stored it');
  await button(page, 'Delete pipeline').waitFor();
  expect((await world.server.client(token).call('listOrganization')).results).toHaveLength(1);
  await looksAt(page, 'tokens');
  await button(page, 'Delete pipeline').click();
  await confirm(page, 'Delete');
  await button(page, 'Delete pipeline').waitFor({ state: 'detached' });
  await expect(world.server.client(token).call('listOrganization')).rejects.toMatchObject({ status: 401 });

  const reader = await openOrganization('members', 'READ');
  await expect.poll(() => reader.getByRole('button', { name: /^New invitation/ }).getAttribute('title')).toMatch(/READ/);
  await tab(reader, 'API tokens');
  await reader.getByRole('heading', { name: 'Not allowed' }).waitFor();
  await looksAt(reader, 'tokens-forbidden');
  await reader.close();
  expect((await api.call('listOrganizationCustomRoles', { params: { organizationId: organization.id } })).results).toHaveLength(
    1,
  );
  await page.close();
}, 60_000);

test('the audit log is filtered, shows what changed, and has pages', async () => {
  const page = await openOrganization('audit');
  await page
    .getByRole('button', { name: /^Details of/ })
    .first()
    .waitFor();
  await looksAt(page, 'audit');
  await page.getByLabel('What').selectOption('UPDATE');
  await page.getByText('Update api').first().waitFor();
  await page.waitForURL(/type=UPDATE/);
  await page.getByRole('button', { name: 'Details of UPDATE api' }).first().click();
  await dialog(page).getByText('600').waitFor();
  await looksAt(page, 'audit-details');
  await confirm(page, 'Close');
  await page.getByLabel('Who').fill('nobody of this name');
  await page.getByRole('heading', { name: 'Nothing is recorded here' }).waitFor();
  await page.goto(page.url().replace(/\?.*/, ''));
  await button(page, 'Older').click();
  await page.waitForURL(/next=/);
  await expect.poll(() => page.getByRole('button', { name: /^Newer/ }).getAttribute('aria-disabled')).toBe(null);
  await page.close();
}, 60_000);

test('registries, repositories, tokens, credentials and groups are created, edited and deleted', async () => {
  const page = await openOrganization('registries');
  const create = async (one: string, fields: Readonly<Record<string, string>>): Promise<void> => {
    await button(page, `New ${one}`).click();
    for (const [label, value] of Object.entries(fields)) await dialog(page).getByLabel(label, { exact: true }).fill(value);
  };
  await create('registry', { Name: 'images', Address: 'registry.example.org' });
  await confirm(page, 'Create registry');
  await expect.poll(() => dialog(page).getByLabel('Address').getAttribute('aria-invalid')).toBe('true');
  await dialog(page).getByLabel('Address').fill('https://registry.example.org');
  await dialog(page).getByLabel('Username').fill('davit');
  await dialog(page).getByLabel('Password').fill('canary-of-the-registry');
  await looksAt(page, 'registry-new');
  await confirm(page, 'Create registry');
  await isClosed(page);
  await create('Helm repository', { Name: 'charts', Address: 'https://charts.example.org' });
  await confirm(page, 'Create Helm repository');
  await isClosed(page);
  await button(page, 'Edit images').click();
  expect(await dialog(page).getByLabel('Username').inputValue()).toBe('davit');
  expect(await dialog(page).getByLabel('Password').inputValue()).toBe('');
  await dialog(page).getByLabel('Description').fill('of the shop');
  await confirm(page, 'Save');
  await page.getByText('of the shop').waitFor();
  await looksAt(page, 'registries');

  await tab(page, 'Git tokens');
  await page.getByText('No git token yet').waitFor();
  await create('git token', { Name: 'reader', Token: 'canary-of-git', 'Address of the host': 'https://git.example.org' });
  await confirm(page, 'Create git token');
  await isClosed(page);
  await looksAt(page, 'git-tokens');

  await tab(page, 'Credentials');
  await create('credentials', { Name: 'cloud', 'Access key id': 'AKIA0000', 'Secret access key': 'canary-of-aws' });
  await looksAt(page, 'credentials-new');
  await confirm(page, 'Create credentials');
  await isClosed(page);
  await button(page, 'Edit cloud').click();
  await dialog(page).getByLabel('Name').fill('cloud two');
  await confirm(page, 'Save');
  await page.locator('main .name').getByText('cloud two').waitFor();
  await button(page, 'Delete cloud two').click();
  await confirm(page, 'Delete');
  await page.getByText('No credentials yet').waitFor();

  await tab(page, 'Labels');
  await create('label group', { Name: 'cost' });
  await dialog(page).getByLabel('Labels 1: Key').fill('team');
  await dialog(page).getByLabel('Labels 1: Value').fill('shop');
  await confirm(page, 'Create label group');
  await page.getByText('team=shop').waitFor();
  await create('annotation group', { Name: 'mesh' });
  await dialog(page).getByLabel('Annotations 1: Key').fill('example.org/mesh');
  await dialog(page).getByLabel('Annotations 1: Value').fill('on');
  await looksAt(page, 'annotations-new');
  await confirm(page, 'Create annotation group');
  await page.getByText('example.org/mesh=on').waitFor();
  await looksAt(page, 'groups');
  // No secret is kept where scripts or people could read it.
  const visible = await page.evaluate<string>('document.documentElement.outerHTML + JSON.stringify({ ...localStorage })');
  expect(visible).not.toMatch(/canary-of/);
  await page.close();
}, 60_000);

test('a cluster is connected, and the organization is edited but not deleted while it has projects', async () => {
  const page = await openOrganization('clusters');
  await page.getByRole('link', { name: 'Local', exact: true }).waitFor();
  await looksAt(page, 'clusters');
  await button(page, 'Connect a cluster').click();
  await dialog(page).getByLabel('Name').fill('west');
  await confirm(page, 'Go on');
  await page.getByRole('heading', { name: 'west', exact: true }).waitFor();
  await page.getByLabel('Kubeconfig').fill('no yaml: [');
  await button(page, 'Store and check').click();
  await page.getByRole('alert').first().waitFor();
  await looksAt(page, 'cluster-new');
  await button(page, 'Delete').click();
  await dialog(page).getByRole('textbox').fill('west');
  await confirm(page, 'Delete');
  await page.getByRole('link', { name: 'west', exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Local', exact: true }).click();
  await page.getByText('Shop / production').waitFor();
  await looksAt(page, 'cluster');

  await tab(page, 'Settings');
  await page.getByLabel('Website').fill('no address');
  await page.getByLabel('Name').fill('Acme Shop');
  await button(page, 'Save').click();
  await page.getByRole('heading', { name: 'Acme Shop', level: 1 }).waitFor();
  await looksAt(page, 'organization-settings');
  expect(await page.getByRole('button', { name: /^Delete Acme Shop/ }).getAttribute('title')).toContain('2 projects');
  await page.close();
}, 60_000);
