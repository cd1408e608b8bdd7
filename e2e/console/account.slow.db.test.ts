import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../packages/server/src/auth/totp.ts';
import { makeFirstRunToken } from '../../packages/server/src/resources/account/index.ts';
import { looksAt } from './world.ts';

let server: RunningServer;
let browser: TestBrowser;
beforeAll(async () => {
  execFileSync('tools/dependencies.sh', { cwd: path.join(import.meta.dirname, '../..'), stdio: 'ignore' });
  server = await startRunningServer();
  browser = await openBrowser(findBrowser() ?? '');
  browser.context.setDefaultTimeout(10_000);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await server.close();
});

const dialog = (page: Page) => page.getByRole('dialog');
const fill = (page: Page, label: string, value: string) => page.getByLabel(label, { exact: true }).fill(value);
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click();

test('a person changes the password, sets up a second factor by its QR code, and ends sessions', async () => {
  const password = 'correct horse battery';
  const email = 'ada@example.org';
  const token = (await makeFirstRunToken(server.api.deps)) ?? '';
  const first = { token, email, password, name: 'Ada', organization_name: 'Shop' };
  await server.client().call('createFirstAccount', { body: first });
  const page = await browser.context.newPage();
  await page.goto(`${server.baseUrl}/console/`);
  await fill(page, 'E-mail address', email);
  await fill(page, 'Password', password);
  await press(page, 'Sign in');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.goto(`${server.baseUrl}/console/account`);
  await page.getByText('This one').waitFor();
  await page.getByText(email).first().waitFor();
  await looksAt(page, 'account');

  await fill(page, 'Current password', 'not this one');
  await fill(page, 'New password', 'another long password');
  await press(page, 'Change password');
  await page.locator('form').getByRole('alert').first().waitFor();
  await fill(page, 'Current password', password);
  await press(page, 'Change password');
  await page.getByText('Your other sessions have ended.').waitFor();

  await press(page, 'Set up');
  await dialog(page).getByLabel('Your password').fill('another long password');
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('img', { name: /^QR code/ }).waitFor();
  await looksAt(page, 'second-factor');
  const secret = (await dialog(page).locator('.secret').textContent()) ?? '';
  await dialog(page).getByLabel('Code of the app').fill('000000');
  await dialog(page).getByRole('button', { name: 'Turn it on' }).click();
  await dialog(page).getByRole('alert').first().waitFor();
  await dialog(page)
    .getByLabel('Code of the app')
    .fill(totpCode(secret, totpStep(Date.now())));
  await dialog(page).getByRole('button', { name: 'Turn it on' }).click();
  await page.getByRole('heading', { name: 'Your recovery codes' }).waitFor();
  await looksAt(page, 'recovery-codes');
  await dialog(page).getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('On: sign-in asks for a code of your app').waitFor();

  await press(page, 'Remove');
  await dialog(page).getByLabel('Your password').fill('another long password');
  await dialog(page).getByRole('button', { name: 'Remove' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByText('Off', { exact: true }).waitFor();
  expect((await page.evaluate<string>('JSON.stringify({ ...localStorage })')).includes(secret)).toBe(false);

  // Another session is listed, and ended.
  const body = { email, password: 'another long password' };
  await server.client().call('signIn', { body });
  await page.reload();
  await page
    .getByRole('button', { name: /^End all others/, disabled: false })
    .first()
    .click();
  // Nothing is left to end.
  await page
    .getByRole('button', { name: /^End all others/, disabled: true })
    .first()
    .waitFor();
}, 60_000);
