import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canary, endMark, fillWithEverything, hostile, type Everything } from './everything.ts';
import { picture, startWorld, type World } from './world.ts';

/*
 * All pages, filled with hostile texts and with secrets. Each page is visited once at the width of a phone; the tests
 * judge what was found there.
 */

let world: World;
let everything: Everything;
const found = {
  harmed: [] as string[],
  wide: [] as string[],
  turned: [] as string[],
  secrets: [] as string[],
  bare: [] as string[],
};
let responses = '';

beforeAll(async () => {
  world = await startWorld();
  everything = await fillWithEverything(world);
}, 120_000);
afterAll(() => world.close());

/** Each address of the router, and what stands for its parameters. */
const addresses = (): Readonly<Record<string, readonly string[]>> => {
  const { production, services, organization } = world;
  const organizationPage = (page: string): string[] => [`/organization/${organization.id}/${page}`];
  const environment = `/environment/${production}`;
  const web = `${environment}/service/${services.web}`;
  const application = `${environment}/service/${services.api}`;
  const orders = `${environment}/service/${services.orders}`;
  const job = `${environment}/service/${services.migrate}`;
  return {
    '/': ['/'],
    '/account': [],
    '/parts': ['/parts'],
    '/organization/$organizationId': [`/organization/${organization.id}`],
    '/organization/$organizationId/new': organizationPage('new'),
    '/organization/$organizationId/members': organizationPage('members'),
    '/organization/$organizationId/roles': organizationPage('roles'),
    '/organization/$organizationId/tokens': organizationPage('tokens'),
    '/organization/$organizationId/audit': organizationPage('audit'),
    '/organization/$organizationId/clusters': organizationPage('clusters'),
    '/organization/$organizationId/clusters/$clusterId': organizationPage(`clusters/${everything.clusterId}`),
    '/organization/$organizationId/registries': organizationPage('registries'),
    '/organization/$organizationId/git-tokens': organizationPage('git-tokens'),
    '/organization/$organizationId/credentials': organizationPage('credentials'),
    '/organization/$organizationId/groups': organizationPage('groups'),
    '/organization/$organizationId/settings': organizationPage('settings'),
    '/organization/$organizationId/webhooks': organizationPage('webhooks'),
    '/project/$projectId': [`/project/${everything.projectId}`],
    '/environment/$environmentId': [environment],
    '/environment/$environmentId/graph': [`${environment}/graph`],
    '/environment/$environmentId/deployments': [`${environment}/deployments`],
    '/environment/$environmentId/previews': [`${environment}/previews`],
    '/environment/$environmentId/settings': [`${environment}/settings`],
    '/environment/$environmentId/new': [`${environment}/new`, `${environment}/new?kind=APPLICATION`],
    '/environment/$environmentId/deployment/$executionId': [`${environment}/deployment/${production}-3`],
    '/environment/$environmentId/service/$serviceId': [web, application, orders, job],
    '/environment/$environmentId/service/$serviceId/logs': [`${application}/logs`, `${application}/logs?wrap=true`],
    '/environment/$environmentId/service/$serviceId/variables': [`${application}/variables`, `${web}/variables?by=scope`],
    '/environment/$environmentId/service/$serviceId/history': [`${application}/history`],
    '/environment/$environmentId/service/$serviceId/history/compare': [`${application}/history/compare`],
    '/environment/$environmentId/service/$serviceId/settings': [application, orders, job].map((one) => `${one}/settings`),
    '/environment/$environmentId/service/$serviceId/metrics': [`${web}/metrics`],
    '/environment/$environmentId/service/$serviceId/domains': [`${web}/domains`],
    '/environment/$environmentId/service/$serviceId/connection': [`${orders}/connection`],
    '/environment/$environmentId/service/$serviceId/backups': [`${orders}/backups`],
    '/environment/$environmentId/service/$serviceId/runs': [`${job}/runs`],
    '/environment/$environmentId/service/$serviceId/git-events': [`${web}/git-events`],
  };
};

/** Runs before the page: keeps the text of all answers that its scripts receive. */
const listen = `
  window.received = '';
  const ask = window.fetch;
  window.fetch = async (...input) => {
    const response = await ask(...input);
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.clone().body ?? []) window.received += decoder.decode(chunk, { stream: true });
    };
    read().catch(() => undefined);
    return response;
  };
`;

/** Returns the texts that stand behind a hostile one in its line and are not isolated from it. */
const neighbours = `(() => {
  const isolates = (element) => {
    const { display, unicodeBidi } = getComputedStyle(element);
    return /isolate|plaintext/.test(unicodeBidi) || !/^(inline|contents)$/.test(display);
  };
  const ended = new Set();
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    let line = node.parentElement;
    // The name of an instance is one name, though it is made of that of its service.
    if (line.closest('script, style, option, textarea, svg, .line .i') !== null) continue;
    while (line.parentElement !== null && !isolates(line)) line = line.parentElement;
    const text = node.data;
    const isTurned = text.includes('\\u202e');
    const behind = ended.has(line) ? text : isTurned && text.includes('${endMark}') ? text.slice(text.lastIndexOf('${endMark}') + 1) : '';
    if (behind.trim() !== '') found.push(line.outerHTML.slice(0, 60) + ' … ' + behind.slice(0, 60));
    if (isTurned) ended.add(line);
  }
  return found;
})()`;

const stored = `(async () => {
  const kept = { ...sessionStorage };
  delete kept['davit.token'];
  const databases = await indexedDB.databases();
  return JSON.stringify([kept, { ...localStorage }, databases, document.cookie]);
})()`;

/** The widest element that reaches out of the window. */
const widest = `(() => {
  if (document.documentElement.scrollWidth <= innerWidth) return null;
  const outside = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1);
  return outside.slice(-3).map((one) => one.outerHTML.slice(0, 120)).join(' | ');
})()`;

/** Notes what is wrong with a page as it is now. */
async function judge(page: Page, name: string): Promise<void> {
  if ((await page.evaluate('window.harmed')) !== undefined) found.harmed.push(name);
  const wide = await page.evaluate<string | null>(widest);
  if (wide !== null) found.wide.push(`${name}: ${wide}`);
  found.turned.push(...(await page.evaluate<string[]>(neighbours)).map((text) => `${name}: ${text}`));
  const received = await page.evaluate<string>('window.received');
  responses += received;
  const parts = {
    page: await page.content(),
    fields: await page.evaluate<string>(`[...document.querySelectorAll('input, textarea')].map(({ value }) => value).join(' ')`),
    storage: await page.evaluate<string>(stored),
    address: page.url(),
    answer: received,
  };
  for (const [part, text] of Object.entries(parts)) {
    const seen = secretIn(text);
    if (seen !== null) found.secrets.push(`${name}, ${part}: ${seen}`);
  }
}

/** Returns a secret that the text contains, with what stands around it. */
function secretIn(text: string): string | null {
  const all = [canary, ...everything.made];
  const at = all.map((secret) => text.indexOf(secret)).find((index) => index !== -1);
  return at === undefined ? null : text.slice(Math.max(0, at - 100), at + 60);
}

async function isRead(page: Page): Promise<void> {
  await page.getByRole('status').getByText('Live').waitFor();
  if (page.url().endsWith('/parts')) return;
  const isShown = `document.querySelector('main h1, main h2') !== null && document.querySelector('.bone') === null`;
  await expect.poll(() => page.evaluate<boolean>(isShown)).toBe(true);
}

async function visit(address: string): Promise<void> {
  const page = await world.browser.context.newPage();
  await page.addInitScript((text: string) => sessionStorage.setItem('davit.token', text), world.organization.tokens.ADMIN);
  await page.addInitScript(listen);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${world.proxy.baseUrl}/console${address}`);
  await isRead(page);
  if (address.includes('/logs')) await page.getByText('the last line').waitFor();
  if (!(await page.locator('main').innerHTML()).includes('onerror=')) found.bare.push(address.replaceAll(/[0-9a-f-]{36}/g, '…'));
  await judge(page, address);
  await picture(page, `hostile-${address.replaceAll(/[^a-z]+/gi, '-')}`);
  if (address === '/') {
    await page.keyboard.press('Control+k');
    await page.getByRole('option').nth(3).waitFor();
    await judge(page, 'what is found');
  }
  await page.close();
}

/** The pages of a person, who signs in with a password. */
async function visitAsPerson(): Promise<void> {
  const { email, password } = everything.person;
  const page = await world.browser.context.newPage();
  await page.addInitScript(listen);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${world.proxy.baseUrl}/console/`);
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await isRead(page);
  const organizationId = await page.evaluate<string>(`localStorage.getItem('davit.organization')`);
  for (const address of ['/account', `/organization/${organizationId}/members`]) {
    await page.goto(`${world.proxy.baseUrl}/console${address}`);
    await isRead(page);
    await judge(page, address);
    await picture(page, `hostile-person-${address.includes('members') ? 'members' : 'account'}`);
  }
  await page.close();
}

/** Pages that a link of somebody else may open. */
async function visitSignedOut(): Promise<void> {
  const page = await world.browser.context.newPage();
  await page.addInitScript(listen);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.context().clearCookies();
  const text = encodeURIComponent(hostile);
  for (const address of ['first-run', 'invitation', 'password', 'device', 'issuer', 'forgotten']) {
    await page.goto(`${world.proxy.baseUrl}/console/${address}?error=${text}&error_description=${text}&state=${text}#${text}`);
    await page.evaluate('localStorage.clear()');
    await page.reload();
    await page.getByRole('heading').first().waitFor();
    await judge(page, address);
  }
  await page.close();
}

test('every page is visited at the width of a phone, and the scripts of none fail', async () => {
  const router = readFileSync(path.join(import.meta.dirname, '../../packages/console/src/router.tsx'), 'utf8');
  const parents = { environment: '/environment/$environmentId', service: '/environment/$environmentId/service/$serviceId' };
  const routes = [...router.matchAll(/getParentRoute: \(\) => (\w+),\s+path: '([^']+)'/g)].map(([, parent = '', route = '']) => {
    const above = parent === 'environment' || parent === 'service' ? parents[parent] : '';
    return above !== '' && route === '/' ? above : `${above}${route}`;
  });
  expect([...new Set(routes)].toSorted()).toEqual(Object.keys(addresses()).toSorted());
  for (const address of Object.values(addresses()).flat()) await visit(address);
  await visitAsPerson();
  await visitSignedOut();
  expect(world.complaints).toEqual([]);
}, 300_000);

test('no hostile text is executed, makes a page wider than a phone, or turns the words beside it', () => {
  // All other pages have a text of somebody else.
  const { harmed, wide, turned, bare } = found;
  expect({ harmed, wide, turned, bare }).toEqual({ harmed: [], wide: [], turned: [], bare: ['/parts', '/organization/…/new'] });
});

test('no secret is on a page, in its fields, its address, its storage, or in an answer that it received', () => {
  expect(responses.length).toBeGreaterThan(100_000);
  expect(found.secrets).toEqual([]);
  for (const url of world.requests) expect(secretIn(url)).toBeNull();
});
