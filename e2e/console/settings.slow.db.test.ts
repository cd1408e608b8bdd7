import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();
const save = async (page: Page, count: string, verb: string | RegExp = 'Save'): Promise<void> => {
  await button(page, `Review ${count}`).click();
  await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
};
const isSaved = (page: Page) => page.getByRole('region', { name: 'Changes that are not saved' }).waitFor({ state: 'detached' });

test('settings of an application are found, edited, compared, refused at their fields, and never overwrite others', async () => {
  const { api, production, services, organization } = world;
  const applicationId = services.web;
  const page = await world.open(`/environment/${production}/service/${applicationId}/settings`);
  await page.getByLabel('Branch').waitFor();
  await looksAt(page, 'settings');

  await page.getByLabel('Branch').fill('next');
  await button(page, 'Add a port').click();
  await page.getByLabel('Ports 2: Port').fill('70000');
  await page.getByLabel('Memory', { exact: true }).fill('600');
  await page.getByLabel('Longest build').fill('900');
  await page.getByLabel('Ready: kind').selectOption('http');
  await page.getByLabel('Ready: Port').fill('3000');
  await looksAt(page, 'settings-edited');
  await button(page, 'Review 5 changes').click();
  await page.getByRole('dialog').getByText('+ next').waitFor();
  await looksAt(page, 'settings-review');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await page
    .getByRole('alert')
    .getByText(/Row 2, internal port/)
    .waitFor();
  await page.getByLabel('Ports 2: Port').fill('3001');

  // Somebody else edits the same record: what both changed is decided, what only they changed stays.
  await api.call('editApplication', { params: { applicationId }, body: { memory: 800, cpu: 700 } });
  await save(page, '5 changes');
  await page.getByText('Meanwhile somebody set it to 800').waitFor();
  await button(page, 'Keep mine').click();
  await save(page, '5 changes');
  await isSaved(page);
  const application = await api.call('getApplication', { params: { applicationId } });
  expect(application).toMatchObject({ memory: 600, cpu: 700, git_repository: { branch: 'next' } });
  expect(application.ports?.map(({ internal_port }) => internal_port)).toEqual([3000, 3001]);
  expect(application.healthchecks.readiness_probe?.type.http).toMatchObject({ port: 3000 });
  const advanced = await api.call('getAdvancedSettings', { params: { applicationId } });
  expect(advanced['build.timeout_max_sec']).toBe(900);

  // A change that needs no deployment says so.
  await page.getByLabel('Find a setting').fill('preview');
  await page.getByLabel('Memory', { exact: true }).waitFor({ state: 'detached' });
  await page.getByLabel('Previews').check();
  await button(page, 'Review 1 change').click();
  await page.getByText('no deployment is needed').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await isSaved(page);

  const reader = await world.open(`/environment/${production}/service/${applicationId}/settings`, organization.tokens.READ);
  await expect.poll(() => reader.getByLabel('Branch').getAttribute('readonly')).toBe('');
  expect(await button(reader, 'Delete web').getAttribute('title')).toMatch(/READ/);
  await reader.close();
  await page.close();
}, 60_000);

test('each kind of service has its own settings, and is deleted only by its typed name', async () => {
  const { api, production, services, organization } = world;
  const params = { environmentId: production };
  const repository = { url: 'https://git.example.org/acme/infra.git', branch: 'main' };
  const terraform = await api.call('createTerraform', {
    params,
    body: { name: 'infra', terraform_files_source: { git_repository: repository } },
  });
  const helm = await api.call('createHelm', {
    params,
    body: { name: 'chart', source: { git_repository: repository }, values_override: { set: [['a', '1']] } },
  });
  const registry = await api.call('createContainerRegistry', {
    params: { organizationId: organization.id },
    body: { name: 'images', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
  });
  const body = { name: 'proxy', registry_id: registry.id, image_name: 'nginx', tag: '1', healthchecks: {} };
  const container = await api.call('createContainer', { params, body });
  const page = await world.open('/');
  const edit = async (id: string, label: string, value: string): Promise<void> => {
    await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/service/${id}/settings`);
    await page.getByLabel(label, { exact: true }).fill(value);
    await save(page, '1 change');
    await isSaved(page);
  };
  await edit(services.orders, 'Storage', '20');
  await looksAt(page, 'settings-database');
  await edit(services.migrate, 'Deploy: arguments', 'up\n--all');
  await looksAt(page, 'settings-job');
  await edit(services.migrate, 'Dockerfile', 'migrate/Dockerfile');
  await edit(container.id, 'Tag', '2');
  await edit(terraform.id, 'Branch', 'next');
  await looksAt(page, 'settings-terraform');
  await edit(helm.id, 'Values 1: Value', '2');
  await edit(helm.id, 'Branch', 'next');
  await looksAt(page, 'settings-helm');
  expect(await api.call('getDatabase', { params: { databaseId: services.orders } })).toMatchObject({ storage: 20 });
  expect(await api.call('getJob', { params: { jobId: services.migrate } })).toMatchObject({
    schedule: { on_start: { entrypoint: '/bin/migrate', arguments: ['up', '--all'] } },
    source: { docker: { dockerfile_path: 'migrate/Dockerfile', git_repository: { branch: 'main' } } },
  });
  expect(await api.call('getContainer', { params: { containerId: container.id } })).toMatchObject({ tag: '2' });
  expect(await api.call('getHelm', { params: { helmId: helm.id } })).toMatchObject({
    source: { git: { git_repository: { branch: 'next' } } },
    values_override: { set: [['a', '2']] },
  });
  expect(await api.call('getTerraform', { params: { terraformId: terraform.id } })).toMatchObject({
    terraform_files_source: { git: { git_repository: { branch: 'next' } } },
  });

  await button(page, 'Delete chart').click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByRole('button', { name: 'Delete' }).getAttribute('aria-disabled')).toBe('true');
  await dialog.getByRole('textbox').fill('chart');
  await looksAt(page, 'settings-delete');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'production' }).waitFor();
  await page.locator('main').getByText('chart', { exact: true }).waitFor({ state: 'detached' });
  await page.close();
}, 60_000);
