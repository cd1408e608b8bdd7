import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const fill = (page: Page, label: string, value: string) => page.getByLabel(label, { exact: true }).fill(value);
const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
const link = (page: Page, name: string) => page.locator('main').getByRole('link', { name, exact: true }).first();

test('a project, an environment and an application from a checked repository are created, and it is deployed', async () => {
  const page = await world.open('/');
  await link(page, 'New project').click();
  await heading(page, 'New project');
  await button(page, 'Create project').click();
  await page.getByRole('alert').first().waitFor();
  await looksAt(page, 'new-project');
  await fill(page, 'Name', 'Blog');
  await button(page, 'Create project').click();
  await heading(page, 'Blog');
  await page.getByRole('heading', { name: 'No environment yet' }).waitFor();
  await looksAt(page, 'project-empty');
  await button(page, 'New environment').click();
  await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('live');
  await page.getByRole('dialog').getByLabel('Mode').selectOption('PRODUCTION');
  // Escape does not lose the name that was entered, nor does another one.
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Close without saving?' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'Close without saving?' }).waitFor({ state: 'detached' });
  expect(await page.getByRole('dialog').getByLabel('Name', { exact: true }).inputValue()).toBe('live');
  await looksAt(page, 'new-environment');
  await button(page, 'Create environment').click();
  await heading(page, 'live');
  await page.locator('.face').getByRole('link', { name: 'New service' }).click();
  await heading(page, 'New service');
  await page.getByText('davit up --environment Blog/live').waitFor();
  await looksAt(page, 'new-service');
  await page.getByRole('link', { name: /^Application/ }).click();
  await heading(page, 'New application');
  await button(page, 'Create application').click();
  // The server's messages are at their fields, and the first of these has the focus.
  await expect.poll(() => page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await looksAt(page, 'new-application-wrong');
  await fill(page, 'Name', 'blog');
  await fill(page, 'Repository', 'https://git.example.org/acme/blog.git');
  await fill(page, 'Dockerfile', 'docker/Dockerfile');
  await button(page, 'Check the repository').click();
  await expect.poll(() => page.getByLabel('Dockerfile', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await fill(page, 'Dockerfile', 'Dockerfile');
  await button(page, 'Check the repository').click();
  await page.getByText('The Dockerfile can be built').waitFor();
  await button(page, 'Use the ports').click();
  expect(await page.getByLabel('Ports 1: Port').inputValue()).toBe('8080');
  await looksAt(page, 'new-application');
  const guide = page.getByRole('region', { name: 'What comes of it' });
  await guide.getByText('https://git.example.org/acme/blog.git, branch main').waitFor();
  await guide.getByText('Everybody; the process listens on port 8080').waitFor();
  // Neither another page nor another kind takes what was entered away without asking.
  for (const away of ['Overview', 'Container']) {
    await page.getByRole('link', { name: away, exact: true }).first().click();
    await page.getByRole('heading', { name: 'Leave without saving?' }).waitFor();
    await button(page, 'Leave it').click();
  }
  await button(page, 'Create application').click();
  await heading(page, 'blog');
  await button(page, 'Deploy').click();
  await page.locator('.facts').getByText('Running', { exact: true }).waitFor({ timeout: 20_000 });

  // The environment is renamed, cloned, and deleted with its typed name.
  await page.getByRole('navigation', { name: 'Where you are' }).getByRole('link', { name: 'live' }).click();
  await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Settings' }).click();
  await fill(page, 'Name', 'production');
  await button(page, 'Save').click();
  await heading(page, 'production');
  await looksAt(page, 'environment-settings');
  await button(page, 'Clone this environment').click();
  await button(page, 'Clone').click();
  await heading(page, 'production copy');
  await page.getByRole('navigation', { name: 'Environment' }).getByRole('link', { name: 'Settings' }).click();
  await button(page, 'Delete production copy').click();
  await page.getByRole('dialog').getByRole('textbox').fill('production copy');
  await looksAt(page, 'environment-delete');
  await button(page, 'Delete it and 1 service').click();
  await heading(page, 'Overview');
  await page.getByRole('navigation', { name: 'Main', exact: true }).getByText('production copy').waitFor({ state: 'detached' });
  await page.close();
}, 60_000);

test('a service of each other kind is created with what it needs', async () => {
  const { api, organization, staging } = world;
  const params = { organizationId: organization.id };
  await api.call('createContainerRegistry', {
    params,
    body: { name: 'images', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
  });
  const page = await world.open(`/environment/${staging}/new?kind=CONTAINER`);
  const begin = async (kind: string): Promise<void> => {
    await page.goto(`${world.proxy.baseUrl}/console/environment/${staging}/new?kind=${kind}`);
    await page.getByLabel('Name', { exact: true }).waitFor();
  };
  await fill(page, 'Name', 'proxy');
  await page.getByLabel('Registry').selectOption({ label: 'images' });
  await fill(page, 'Image', 'library/nginx');
  await fill(page, 'Tag', '1.29');
  await button(page, 'Add a port').click();
  await button(page, 'Create container').click();
  await heading(page, 'proxy');

  await begin('DATABASE');
  await fill(page, 'Name', 'posts');
  await page.getByLabel('Type').selectOption('REDIS');
  await page.getByLabel('Version').selectOption({ index: 1 });
  await page.getByLabel('Backups').selectOption('CONTAINER');
  await looksAt(page, 'new-database');
  await button(page, 'Create database').click();
  await heading(page, 'posts');

  await begin('JOB');
  await fill(page, 'Name', 'nightly');
  await fill(page, 'Repository', 'https://git.example.org/acme/nightly.git');
  await fill(page, 'Schedule', 'never');
  await button(page, 'Create job').click();
  await expect.poll(() => page.getByLabel('Schedule', { exact: true }).getAttribute('aria-invalid')).toBe('true');
  await looksAt(page, 'new-job');
  await page.getByLabel('Runs').selectOption('start');
  await fill(page, 'Arguments', 'migrate\n--all');
  await button(page, 'Create job').click();
  await heading(page, 'nightly');

  await begin('HELM');
  await fill(page, 'Name', 'chart');
  await page.getByLabel('From').selectOption('git');
  await fill(page, 'Repository', 'https://git.example.org/acme/chart.git');
  await looksAt(page, 'new-helm');
  await button(page, 'Create Helm chart').click();
  await heading(page, 'chart');

  await begin('TERRAFORM');
  await fill(page, 'Name', 'infra');
  await fill(page, 'Repository', 'https://git.example.org/acme/infra.git');
  await looksAt(page, 'new-terraform');
  await button(page, 'Create Terraform').click();
  await heading(page, 'infra');
  const { results } = await api.call('listServicesByEnvironmentId', { params: { environmentId: staging } });
  expect(results.map(({ name }) => name).toSorted()).toEqual(['chart', 'infra', 'nightly', 'posts', 'proxy', 'web']);
  const job = results.find(({ name }) => name === 'nightly');
  expect(job).toMatchObject({ schedule: { on_start: { arguments: ['migrate', '--all'] } } });

  // Who may only read sees the form, and why it cannot be sent.
  const reader = await world.open(`/environment/${staging}/new?kind=DATABASE`, organization.tokens.READ);
  await expect.poll(() => reader.getByRole('button', { name: 'Create database' }).getAttribute('title')).toMatch(/READ/);
  await button(reader, 'Create database').press('Enter');
  await reader.locator('.reason-note:popover-open').getByText(/READ/).waitFor();
  await looksAt(reader, 'refused', [390]);
  await reader.goto(`${world.proxy.baseUrl}/console/`);
  await expect.poll(() => button(reader, 'New project').getAttribute('title')).toMatch(/READ/);
  await reader.close();
  await page.close();
}, 60_000);
