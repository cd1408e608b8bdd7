import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { roleDescriptions } from '@davit/contract';
import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { MailSink } from '@davit/testkit/mail-sink';
import { OpenIdIssuer } from '@davit/testkit/openid-issuer';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mailSenderOf } from '../../packages/server/src/background/background.ts';
import { createAccountOf, makeFirstRunToken } from '../../packages/server/src/resources/account/index.ts';
import { picture, violationsOf } from './world.ts';

/* The pages that people see before they are signed in. */

let server: RunningServer;
const browsers: TestBrowser[] = [];
beforeAll(async () => {
  execFileSync('tools/dependencies.sh', { cwd: path.join(import.meta.dirname, '../..'), stdio: 'ignore' });
  server = await startRunningServer();
}, 60_000);
afterAll(async () => {
  for (const browser of browsers) await browser.close();
  await server.close();
});

const password = 'correct horse battery';
const ada = 'ada@example.org';

/** Opens a page in a browser of its own, with no session. */
async function openPage(address: string): Promise<Page> {
  const browser = await openBrowser(findBrowser() ?? '');
  browsers.push(browser);
  browser.context.setDefaultTimeout(10_000);
  const page = await browser.context.newPage();
  await page.goto(new URL(address, server.baseUrl).href);
  return page;
}

const fill = (page: Page, label: string, value: string): Promise<void> => page.getByLabel(label).fill(value);
const press = (page: Page, name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();

/** Waits for the first page of the console, with this organization. */
async function isInside(page: Page, organization: string): Promise<void> {
  await page.waitForURL(/\/console\/?(?:organization\/[^/]+)?$/);
  await page.getByText(organization).first().waitFor();
}

async function looksGood(page: Page, name: string): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [390, 1280]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      expect(await violationsOf(page)).toEqual([]);
      expect(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await picture(page, `${name}-${scheme}-${width}`);
    }
  }
}

test('the first person comes in by the link of the start, signs out, and in again with a password', async () => {
  const page = await openPage(`/console/first-run#${await makeFirstRunToken(server.api.deps)}`);
  await looksGood(page, 'first-run');
  await fill(page, 'Your name', 'Ada');
  await fill(page, 'E-mail address', ada);
  await fill(page, 'Password, at least 10 characters', 'short');
  await fill(page, 'Name of your organization (optional)', 'Shop');
  await press(page, 'Create account');
  await page
    .getByRole('alert')
    .getByText(/^Password must/)
    .waitFor();
  await fill(page, 'Password, at least 10 characters', password);
  await press(page, 'Create account');
  await isInside(page, 'Shop');
  // Scripts cannot read the session, and nothing of it is kept where they can.
  const visible = await page.evaluate<string>('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)');
  expect(visible).not.toContain('dvs_');
  await page.getByRole('button', { name: 'You' }).first().click();
  await press(page, 'Sign out');
  await looksGood(page, 'sign-in');
  await fill(page, 'E-mail address', ada);
  await fill(page, 'Password', 'not the password');
  await press(page, 'Sign in');
  await page.getByRole('alert').getByText('The e-mail address or the password is wrong.').waitFor();
  await fill(page, 'Password', password);
  await press(page, 'Sign in');
  await isInside(page, 'Shop');
  // The link works once.
  const other = await openPage(page.url());
  await page.reload();
  await isInside(page, 'Shop');
  await other.getByLabel('E-mail address').waitFor();
  await other.goto(`${server.baseUrl}/console/password`);
  await other.getByText('This address is incomplete.').waitFor();
}, 90_000);

test('an invited person joins by the link, loses the password, and signs a program in', async () => {
  const { id } = await server.organization('Bakery');
  const params = { organizationId: id };
  const admin = server.client();
  const body = { email: 'grace@example.org', role_id: roleDescriptions.DEVOPS.id };
  const { invitation_link: link } = await admin.call('postInviteMember', { params, body });
  const { pathname, hash } = new URL(link);
  const page = await openPage(`${pathname}${hash}`);
  await page.getByRole('heading', { name: 'Join Bakery' }).waitFor();
  await looksGood(page, 'invitation');
  await fill(page, 'Your name', 'Grace');
  await fill(page, 'Password, at least 10 characters', password);
  await press(page, 'Create account and join');
  await isInside(page, 'Bakery');

  const { results } = await admin.call('getOrganizationMembers', { params });
  const userId = results.find(({ email }) => email === 'grace@example.org')?.id ?? '';
  const lost = new URL((await admin.call('createPasswordLink', { params: { ...params, userId } })).link);
  await page.goto(`${server.baseUrl}${lost.pathname}${lost.hash}`);
  await looksGood(page, 'password');
  await fill(page, 'Password, at least 10 characters', 'another long password');
  await press(page, 'Set password');
  await fill(page, 'E-mail address', 'grace@example.org');
  await fill(page, 'Password', 'another long password');
  await press(page, 'Sign in');
  await isInside(page, 'Bakery');

  const begun = await admin.call('createDeviceSignIn', { body: { name: 'Command line on a laptop' } });
  const { pathname: device, hash: code } = new URL(begun.verification_uri_complete);
  await page.goto(`${server.baseUrl}${device}${code}`);
  await page.getByRole('heading', { name: 'Sign Command line on a laptop in?' }).waitFor();
  await looksGood(page, 'device');
  await press(page, 'Sign it in');
  await page.getByRole('heading', { name: 'Command line on a laptop is signed in' }).waitFor();
  const { access_token: token } = await admin.call('getDeviceToken', { body: { device_code: begun.device_code } });
  expect((await server.client(token).call('listOrganization')).results).toEqual([expect.objectContaining({ id })]);
}, 90_000);

test('a person signs in with a passkey of the browser, until a reset of the password removes it', async () => {
  const place = server.baseUrl.replace('127.0.0.1', 'localhost');
  const { id } = await server.organization('Library');
  const params = { organizationId: id };
  const invited = { params, body: { email: 'heidi@example.org' } };
  const { invitation_link: link } = await server.client().call('postInviteMember', invited);
  const page = await openPage(`${place}/console/invitation${new URL(link).hash}`);
  await fill(page, 'Your name', 'Heidi');
  await fill(page, 'Password, at least 10 characters', password);
  await press(page, 'Create account and join');
  await isInside(page, 'Library');
  const devices = await page.context().newCDPSession(page);
  await devices.send('WebAuthn.enable');
  const options = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const;
  await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...options, isUserVerified: true, automaticPresenceSimulation: true },
  });
  // The account page adds passkeys like this.
  const status = await page.evaluate<number>(`(async () => {
    const send = (path, body) => fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    const options = await (await send('/account/passkey/challenge', { password: ${JSON.stringify(password)} })).json();
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const credential = (await navigator.credentials.create({ publicKey })).toJSON();
    return (await send('/account/passkey', { name: 'Laptop', credential })).status;
  })()`);
  expect(status).toBe(201);
  const signOut = async (): Promise<void> => {
    await page.getByRole('button', { name: 'You' }).first().click();
    await press(page, 'Sign out');
  };
  await signOut();
  await looksGood(page, 'sign-in-passkey');
  await press(page, 'Sign in with a passkey');
  await isInside(page, 'Library');
  const { results } = await server.client().call('getOrganizationMembers', { params });
  const userId = results.find(({ email }) => email === 'heidi@example.org')?.id ?? '';
  const lost = new URL((await server.client().call('createPasswordLink', { params: { ...params, userId } })).link);
  await page.goto(`${place}${lost.pathname}${lost.hash}`);
  await fill(page, 'Password, at least 10 characters', 'another long password');
  await press(page, 'Set password');
  await page.getByText('One passkey was removed').waitFor();
  await looksGood(page, 'passkey-removed');
  await press(page, 'Sign in');
  await press(page, 'Sign in with a passkey');
  await page.getByRole('alert').getByText('The passkey is not known here').waitFor();
}, 90_000);

test('a person who forgot the password gets a link by mail', async () => {
  const sink = await MailSink.start();
  const environment = {
    DAVIT_SMTP_URL: sink.url,
    DAVIT_MAIL_FROM: 'davit@example.org',
    DAVIT_PUBLIC_URL: 'http://davit.example',
  };
  const other = await startRunningServer(environment);
  const sender = mailSenderOf({ deps: other.api.deps, log: { info: () => undefined, warn: () => undefined } });
  try {
    await createAccountOf(other.database.database, ada);
    const page = await openPage(`${other.baseUrl}/console/`);
    await page.getByRole('link', { name: 'Forgotten password' }).click();
    await looksGood(page, 'forgotten');
    await fill(page, 'E-mail address', ada);
    await press(page, 'Send me a link');
    await page.getByRole('heading', { name: 'Look at your mail' }).waitFor();
    await looksGood(page, 'forgotten-sent');
    await sender?.idle();
    expect(sink.received).toHaveLength(1);
    const link = /http:\/\/davit\.example(\/console\/password#[\w-]+)/.exec(sink.received[0]?.text ?? '')?.[1] ?? '';
    await page.goto(`${other.baseUrl}${link}`);
    await fill(page, 'Password, at least 10 characters', password);
    await press(page, 'Set password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
  } finally {
    await sender?.stop();
    await other.close();
    await sink.close();
  }
}, 90_000);

test('a person signs in through an issuer, arrives where they wanted to go, and gets out of a refusal', async () => {
  const issuer = await OpenIdIssuer.start();
  const other = await startRunningServer({ DAVIT_OIDC_ISSUER: issuer.url, DAVIT_OIDC_CLIENT_ID: OpenIdIssuer.clientId });
  try {
    await issuer.serve(`${other.baseUrl}/console/issuer`);
    const { id } = await other.organization('Florist');
    const body = { email: 'grace@example.org' };
    const { invitation_link: link } = await other.client().call('postInviteMember', { params: { organizationId: id }, body });
    const page = await openPage(`${other.baseUrl}/console/`);
    await page.getByRole('button', { name: 'Continue with localhost' }).waitFor();
    await looksGood(page, 'sign-in-issuer');
    await page.getByRole('button', { name: 'Continue with localhost' }).click();
    await press(page, 'Enter');
    await page.getByRole('alert').getByText('The issuer refused: access_denied.').waitFor();
    await looksGood(page, 'issuer-refused');
    await press(page, 'Back to the sign-in');
    await page.getByRole('button', { name: 'Continue with localhost' }).click();
    await page.getByLabel('Name').fill('grace');
    await press(page, 'Enter');
    await page.waitForURL(`${other.baseUrl}/console/`);
    const { pathname, hash } = new URL(link);
    await page.goto(`${other.baseUrl}${pathname}${hash}`);
    await press(page, 'Join with your account');
    await isInside(page, 'Florist');
    await page.getByRole('button', { name: 'You' }).first().click();
    await press(page, 'Sign out');
    const place = `${other.baseUrl}/console/device#BCDF-GHJK`;
    await page.goto(place);
    await page.reload();
    await page.getByRole('button', { name: 'Continue with localhost' }).click();
    await page.waitForURL(place);
    await page.getByRole('heading', { name: 'Sign a program in' }).waitFor();
    // The code of the issuer is not in the history.
    expect(await page.evaluate<string>('document.cookie + JSON.stringify(sessionStorage)')).not.toMatch(/dvs_|code=|device/);
  } finally {
    await other.close();
    await issuer.close();
  }
}, 90_000);
