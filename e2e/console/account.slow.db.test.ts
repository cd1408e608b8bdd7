import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { totpCode, totpStep } from '../../packages/server/src/auth/totp.ts';
import { makeFirstRunToken } from '../../packages/server/src/resources/account/index.ts';
import { looksAt, picture } from './world.ts';

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
  await page.getByRole('heading', { name: 'No project yet' }).waitFor();
  await looksAt(page, 'overview-empty');
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

test('a person adds a passkey on the account page, renames it, signs in with it, and removes it', async () => {
  // A passkey belongs to a host name: an IP address has none.
  const place = server.baseUrl.replace('127.0.0.1', 'localhost');
  const page = await browser.context.newPage();
  await page.goto(`${place}/console/account`);
  await fill(page, 'E-mail address', 'ada@example.org');
  await fill(page, 'Password', 'another long password');
  await press(page, 'Sign in');
  const passkeys = page.getByRole('region', { name: 'Passkeys' });
  await passkeys.getByText('No passkey yet').waitFor();
  const send = <Answer>(path: string, body: object): Promise<Answer> =>
    page.evaluate<Answer>(
      `fetch('${path}', { method: 'POST', headers: { 'content-type': 'application/json' }, body: '${JSON.stringify(body)}' })
        .then((answer) => answer.json())`,
    );
  const { secret } = await send<{ secret: string }>('/account/secondFactor', { password: 'another long password' });
  const code = totpCode(secret, totpStep(Date.now()));
  const confirmed = await send<{ recovery_codes: string[] }>('/account/secondFactor/confirm', { code });
  const nextCode = (): string => confirmed.recovery_codes.shift() ?? '';
  await page.reload();
  await page.getByText('On: sign-in asks for a code of your app').waitFor();
  const devices = await page.context().newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const;
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: false, automaticPresenceSimulation: true },
  });

  await press(page, 'Add a passkey');
  await dialog(page).getByLabel('Name', { exact: true }).fill('Laptop');
  await dialog(page).getByLabel('Your password').fill('not this one');
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await expect.poll(() => dialog(page).getByLabel('Your password').getAttribute('aria-invalid')).toBe('true');
  await looksAt(page, 'passkey-add');
  await dialog(page).getByLabel('Your password').fill('another long password');
  // A wrong code is refused, and ends no session.
  await dialog(page).getByLabel('Code of your').fill('000000');
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await dialog(page).getByRole('alert').first().waitFor();
  await dialog(page).getByLabel('Code of your').fill(nextCode());
  // The finger is not recognized, then it is.
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await dialog(page).getByText('The browser made no passkey.').waitFor();
  await dialog(page).getByText('The code was used').waitFor();
  await devices.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await dialog(page).getByLabel('Code of your').fill(nextCode());
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await passkeys.getByText('Never').waitFor();
  await press(page, 'Rename Laptop');
  await dialog(page).getByLabel('Name', { exact: true }).fill('Old laptop with a long name of the accounting department');
  await dialog(page).getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('button', { name: /^Remove Old laptop/ }).waitFor();
  await looksAt(page, 'passkeys');
  // One device keeps one passkey of an account.
  await press(page, 'Add a passkey');
  await dialog(page).getByLabel('Name', { exact: true }).fill('Again');
  await dialog(page).getByLabel('Your password').fill('another long password');
  await dialog(page).getByLabel('Code of your').fill(nextCode());
  await dialog(page).getByRole('button', { name: 'Go on' }).click();
  await dialog(page).getByText('This device keeps a passkey of your account already.').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('button', { name: 'You', exact: true }).first().click();
  // The menu is at the foot of the window, and is in view as a whole.
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().waitFor();
  expect(await page.evaluate('document.querySelector(":popover-open").getBoundingClientRect().bottom <= innerHeight')).toBe(true);
  await picture(page, 'menu');
  await press(page, 'Sign out');
  await press(page, 'Sign in with a passkey');
  await passkeys.getByText('Never').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Remove Old laptop/ }).click();
  await dialog(page).getByRole('button', { name: 'Remove' }).click();
  await passkeys.getByText('No passkey yet').waitFor();

  // At an IP address the page says why there are no passkeys.
  await page.goto(`${server.baseUrl}/console/account`);
  await fill(page, 'E-mail address', 'ada@example.org');
  await fill(page, 'Password', 'another long password');
  await press(page, 'Sign in');
  await page.getByLabel('Code of your').fill(nextCode());
  await press(page, 'Sign in');
  await expect.poll(() => page.getByRole('button', { name: /^Add a passkey/ }).getAttribute('title')).toMatch(/host name|https/);
  await page.close();
}, 60_000);
