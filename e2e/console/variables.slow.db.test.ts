import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksAt, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();
const row = (page: Page, key: string) => page.getByRole('row').filter({ has: page.getByText(key, { exact: true }) });

/** Returns the key of the built-in variable with the address of the database. */
const databaseUrlIn = async (page: Page): Promise<string> => {
  const keys = await page.getByLabel('Alias of').locator('option').allTextContents();
  return keys.find((key) => key.endsWith('DATABASE_URL_INTERNAL')) ?? '';
};

test('variables of all scopes are edited in one place, pasted, compared before they are saved, and never lost silently', async () => {
  const { api, production, services, organization } = world;
  const { project } = await api.call('getEnvironment', { params: { environmentId: production } });
  const parents = { PROJECT: project.id, ENVIRONMENT: production, APPLICATION: services.api };
  const set = (key: string, value: string, scope: keyof typeof parents, is_secret = false) =>
    api.call('createVariable', { body: { key, value, is_secret, variable_scope: scope, variable_parent_id: parents[scope] } });
  const level = await set('LOG_LEVEL', 'debug', 'PROJECT');
  await set('PAYMENT_KEY', 'canary-of-a-secret', 'PROJECT', true);
  await set('REGION', 'eu', 'ENVIRONMENT');
  const host = await set('HOST', 'localhost', 'APPLICATION');
  await set('WEB_URL', 'https://{{HOST}}/', 'APPLICATION');

  const page = await world.open(`/environment/${production}/service/${services.api}/variables`);
  await row(page, 'WEB_URL').getByText('→ https://localhost/').waitFor();
  await row(page, 'PAYMENT_KEY').getByText('••••••••').waitFor();
  expect(await button(page, 'Edit DAVIT').getAttribute('aria-disabled')).toBe('true');

  // Editing an inherited variable is an override here, unless its author chooses the wider place.
  await button(page, 'Edit LOG_LEVEL').click();
  await page.getByLabel('Value of LOG_LEVEL').fill('info');
  await button(page, 'Edit HOST').click();
  await page.getByLabel('Value of HOST').fill('0.0.0.0');
  await button(page, 'Paste .env').click();
  const paste = page.getByRole('dialog');
  await paste.getByLabel('Text').fill(`export NEW='a b'\nnonsense\nAPI_TOKEN=second-canary\nMANY="one\ntwo"`);
  await paste.getByText('Line 2: There is no =').waitFor();
  await paste.getByText('3 new, 0 changed, 1 line not read').waitFor();
  await looksAt(page, 'variables-paste');
  await button(page, 'Add to the changes').click();

  // Somebody else changes a variable that is being edited here.
  await api.call('editVariable', { params: { variableId: host.id }, body: { key: 'HOST', value: 'theirs' } });
  await button(page, 'Review 5 changes').click();
  await row(page, 'HOST').getByText('Meanwhile somebody set it to').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  await looksAt(page, 'variables-edited');
  await row(page, 'HOST').getByRole('button', { name: 'Keep mine' }).click();
  await button(page, 'Review 5 changes').click();
  const review = page.getByRole('dialog');
  await review.getByText('− HOST=theirs').waitFor();
  await review.getByText('+ HOST=0.0.0.0').waitFor();
  await review.getByText('+ API_TOKEN=••••••••').waitFor();
  await looksAt(page, 'variables-review');
  await review.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('region', { name: 'Changes that are not saved' }).waitFor({ state: 'detached' });
  await row(page, 'LOG_LEVEL').getByText('overrides project').last().waitFor();
  await page.locator('.facts').waitFor();

  const seen = (await api.call('listVariables', { query: { parent_id: services.api, scope: 'APPLICATION' } })).results;
  const now = (key: string) =>
    seen.filter((one) => one.key === key).map(({ value, scope, is_secret }) => ({ value, scope, is_secret }));
  expect(now('HOST')).toEqual([{ value: '0.0.0.0', scope: 'APPLICATION', is_secret: false }]);
  expect(now('MANY')).toEqual([{ value: 'one\ntwo', scope: 'APPLICATION', is_secret: false }]);
  expect(now('API_TOKEN')).toEqual([{ value: null, scope: 'APPLICATION', is_secret: true }]);
  expect(now('LOG_LEVEL')).toHaveLength(2);
  expect(level.value).toBe('debug');

  // As text: a line that is taken out is a deletion; what the server refuses stands at its variable.
  await button(page, 'Edit as text').click();
  const text = page.getByRole('dialog').getByLabel('Text');
  expect(await text.inputValue()).not.toContain('canary');
  await text.fill((await text.inputValue()).replace(/^NEW=.*\n/m, '') + 'LOOP={{LOOP}}\n');
  await page.getByText('1 new, 0 changed, 1 deleted').waitFor();
  await button(page, 'Add to the changes').click();
  await button(page, 'Review 2 changes').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  await row(page, 'LOOP').getByRole('alert').waitFor();
  await row(page, 'NEW').waitFor({ state: 'detached' });

  // Edits that are not saved are not left behind without a word.
  await page.getByRole('link', { name: 'Logs' }).click();
  await page.getByRole('dialog').getByText('1 change is not saved').waitFor();
  await page.getByRole('button', { name: 'Leave it' }).click();
  await button(page, 'Discard').click();
  await button(page, 'By scope').click();
  await page.getByText('From the project').waitFor();
  await looksAt(page, 'variables-by-scope');
  const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage]) + document.documentElement.outerHTML');
  expect(kept).not.toMatch(/canary/);

  // An alias and a hostile value, added by keyboard alone; the connection is lost meanwhile, and nothing of the edit.
  const hostile = '‮<img src=x onerror="window.harmed=1">' + 'x'.repeat(10_000);
  await page.getByRole('button', { name: 'Add', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.type('DATABASE_URL');
  await page.getByRole('button', { name: 'Alias' }).press('Enter');
  await page.getByLabel('Alias of').selectOption({ label: await databaseUrlIn(page) });
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Add to the changes' }).press('Enter');
  await button(page, 'Edit HOST').press('Enter');
  await page.keyboard.insertText(hostile);
  await world.proxy.cut();
  await page.getByText('The connection to Davit is lost.').waitFor();
  await world.proxy.restore();
  await page.getByRole('status').getByText('Live').waitFor();
  await button(page, 'Review 2 changes').press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).press('Enter');
  await row(page, 'DATABASE_URL').getByText('alias of').last().waitFor();
  await row(page, 'HOST').getByText('<img src=x').first().waitFor();
  await looksAt(page, 'variables-hostile');
  expect(await page.evaluate('window.harmed')).toBeUndefined();

  // Who may only read sees all of it, and why it cannot be changed.
  const reader = await world.open(`/environment/${production}/service/${services.api}/variables`, organization.tokens.READ);
  await row(reader, 'HOST').waitFor();
  await expect.poll(() => button(reader, 'Add').getAttribute('title')).toMatch(/READ/);
  await reader.close();
  await page.close();
}, 60_000);
