import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endJobs } from './shop.ts';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const node = (page: Page, name: string) => page.locator('.graph a').filter({ hasText: new RegExp(`^${name},`) });
const focused = (page: Page) => page.evaluate<string>(`document.activeElement.querySelector('.name')?.textContent ?? ''`);

/** Lets services refer to others: by an alias, by braces, by the name as a host; and one of the whole environment. */
async function refer({ api, production, services }: World): Promise<void> {
  const own = (id: string) => ({ variable_scope: 'APPLICATION', variable_parent_id: id, is_secret: false }) as const;
  const { results } = await api.call('listVariables', { query: { parent_id: services.api, scope: 'APPLICATION' } });
  const ofOrders = (end: string) => results.find((one) => one.service_id === services.orders && one.key.endsWith(end));
  const url = ofOrders('_DATABASE_URL');
  const alias = { key: 'STORE', alias_scope: 'APPLICATION', alias_parent_id: services.api } as const;
  await api.call('createVariableAlias', { params: { variableId: url?.id ?? '' }, body: alias });
  const host = `{{${ofOrders('_HOST_INTERNAL')?.key}}}`;
  await api.call('createVariable', { body: { key: 'STORE_HOST', value: host, ...own(services.worker) } });
  await api.call('createVariable', { body: { key: 'API', value: 'http://api:8080/v1', ...own(services.web) } });
  const wide = { key: 'CACHE_KEY', alias_scope: 'ENVIRONMENT', alias_parent_id: production } as const;
  const cache = results.find((one) => one.service_id === services.cache && one.key.endsWith('_HOST_INTERNAL'));
  await api.call('createVariableAlias', { params: { variableId: cache?.id ?? '' }, body: wide });
}

test('the graph shows stages, services, states and references, in words too, by keys alone, and live', async () => {
  const { production, services, server, api } = world;
  await refer(world);
  const page = await world.open(`/environment/${production}`);
  await page.getByRole('navigation', { name: 'Environment' }).getByText('Graph').click();
  await page.getByRole('row', { name: /^api orders STORE$/ }).waitFor();
  await page.getByRole('row', { name: /^worker orders STORE_HOST$/ }).waitFor();
  await page.getByRole('row', { name: /^web api API$/ }).waitFor();
  await page.getByRole('row', { name: /^All services cache CACHE_KEY$/ }).waitFor();
  const stages = page.getByRole('list', { name: 'Stages, in the order of deployment' }).getByRole('heading');
  expect(await stages.allTextContents()).toEqual(['1Data', '2Prepare', '3Backend', '4Frontend']);
  expect(await node(page, 'api').textContent()).toBe(
    'api, Application, Deployment error. Refers to orders. Is referred to by web.',
  );
  // Three arrows: what every service sees is no arrow.
  expect((await page.locator('.graph path').first().getAttribute('d'))?.match(/M/g)).toHaveLength(3);
  await looksAt(page, 'graph', [390, 768, 1280]);

  // One stop for the tab key; the arrows do the rest, and show what the service refers to.
  await page.getByRole('navigation', { name: 'Environment' }).getByText('Settings').focus();
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('orders');
  expect(await page.locator('.graph .on a, .graph a.on').count()).toBe(3);
  for (const [key, name] of [
    ['ArrowDown', 'cache'],
    ['ArrowRight', 'migrate'],
    ['ArrowRight', 'api'],
    ['ArrowDown', 'worker'],
    ['End', 'web'],
    ['ArrowLeft', 'api'],
  ] as const) {
    await page.keyboard.press(key);
    expect(await focused(page)).toBe(name);
  }

  // A state changes in place: no node moves, and the focus stays.
  const places = () =>
    page.evaluate<string>(
      `JSON.stringify([...document.querySelectorAll('.graph a')].map((one) => [one.offsetLeft, one.offsetTop]))`,
    );
  const before = await places();
  endJobs(server, services.migrate);
  await api.call('deployApplication', { params: { applicationId: services.api } });
  await node(page, 'api').getByText('Running').waitFor();
  expect(await places()).toBe(before);
  expect(await focused(page)).toBe('api');
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Service' }).waitFor();
  expect(page.url()).toContain(services.api);
  await page.close();
  expect(world.complaints).toEqual([]);
}, 60_000);

test('rows never stand without the heading of their stage, also at the first opening', async () => {
  const { production } = world;
  const page = await world.open('/account');
  const isBare = `[...document.querySelectorAll('tr.stage bdi')].some((one) => one.textContent === '')`;
  const watch = `new MutationObserver(() => { window.wasBare ||= ${isBare}; })`;
  await page.addInitScript(`${watch}.observe(document, { subtree: true, childList: true, characterData: true })`);
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}`);
  const headings = page.locator('tr.stage bdi');
  await expect.poll(() => headings.allTextContents()).toEqual(['Data', 'Prepare', 'Backend', 'Frontend']);
  await page.locator('.live').getByText('Live').waitFor();
  expect(await page.evaluate<boolean>('window.wasBare === true')).toBe(false);
  // From the overview, too, which knows the services before their stages are read.
  await page.reload();
  await page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link', { name: 'Overview' }).click();
  await page.locator('main table').getByText('production').first().click();
  await expect.poll(() => headings.allTextContents()).toEqual(['Data', 'Prepare', 'Backend', 'Frontend']);
  expect(await page.evaluate<boolean>('window.wasBare === true')).toBe(false);
  await page.close();
}, 60_000);

test('a graph without services, without references, and one whose references cannot be read say so', async () => {
  const { staging, production, api, browser } = world;
  const { project } = await api.call('getEnvironment', { params: { environmentId: staging } });
  const body = { name: 'empty', mode: 'DEVELOPMENT' } as const;
  const empty = await api.call('createEnvironment', { params: { projectId: project.id }, body });
  const page = await world.open(`/environment/${empty.id}/graph`);
  await page.getByText('No services yet').waitFor();
  await page.goto(`${world.proxy.baseUrl}/console/environment/${staging}/graph`);
  await page.getByText('No variable of a service refers to another service.').waitFor();
  await browser.context.route('**/variable?**', (route) =>
    route.fulfill({
      status: 403,
      contentType: 'application/json',
      body: '{"status":403,"code":"FORBIDDEN","message":"Not for you."}',
    }),
  );
  await page.goto(`${world.proxy.baseUrl}/console/environment/${production}/graph`);
  await page.getByText('Not for you.').waitFor();
  await page.getByText('They could not be read.').waitFor();
  expect(await page.locator('.graph a').count()).toBe(6);
  await looksAt(page, 'graph-failed', [390]);
  await browser.context.unroute('**/variable?**');
  await page.close();
}, 60_000);
