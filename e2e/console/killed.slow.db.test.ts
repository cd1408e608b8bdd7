import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import path from 'node:path';
import { createClient } from '@davit/client';
import { createFakeCluster, type FakeCluster } from '@davit/drivers';
import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { makeOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ForkedServer } from '../support/forked-server.ts';
import { createShop, type Shop } from './shop.ts';

const adminToken = 'killed-administrator-token';
/** Milliseconds after which a lost connection must be seen. */
const seenWithin = 3000;

let database: TestDatabase;
let fake: FakeCluster;
let server: ForkedServer;
let browser: TestBrowser;
let shop: Shop;
let baseUrl: string;
const complaints: string[] = [];

beforeAll(async () => {
  execFileSync('tools/dependencies.sh', { cwd: path.join(import.meta.dirname, '../..'), stdio: 'ignore' });
  database = await createTestDatabase({ isMigrated: false });
  fake = createFakeCluster();
  // The address of the pages stays over the restart.
  const environment = { DAVIT_PORT: String(await freePort()), DAVIT_DRAIN_SECONDS: '1', DAVIT_TERMINATION_GRACE_SECONDS: '1' };
  server = new ForkedServer({ fake, database, token: adminToken, environment });
  await server.start();
  baseUrl = server.address ?? '';
  const client = (token: string = adminToken) => createClient({ baseUrl, token });
  shop = await createShop({ fake, client, organization: (name = 'Acme') => makeOrganization(client(), name) });
  await accepted(() => shop.api.call('deployEnvironment', { params: { environmentId: shop.production } }));
  await hasState(shop, 'DEPLOYED');
  browser = await openBrowser(findBrowser() ?? '');
  browser.context.setDefaultTimeout(30_000);
  browser.context.on('weberror', (error) => complaints.push(error.error().message));
}, 120_000);
afterAll(async () => {
  await browser.close();
  await server.kill();
  await database.drop();
  server.remove();
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
  const address = probe.address();
  await new Promise((done) => probe.close(done));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Sends a request again for as long as the server is too busy with other tests to accept it. */
async function accepted(send: () => Promise<unknown>): Promise<void> {
  await vi.waitFor(send, { timeout: 20_000, interval: 500 });
}

async function hasState({ api, production }: Shop, state: string, environmentId = production): Promise<void> {
  const read = () => api.call('getEnvironmentStatus', { params: { environmentId } });
  await vi.waitFor(async () => expect((await read()).state).toBe(state), 20_000);
}

interface OpenOptions {
  /** As on a page from plain http of another machine, where tabs share the stream by a lease. */
  readonly isWithoutLocks?: boolean;
}

async function open(address: string, { isWithoutLocks = false }: OpenOptions = {}): Promise<Page> {
  const page = await browser.context.newPage();
  await page.addInitScript((text: string) => sessionStorage.setItem('davit.token', text), shop.organization.tokens.WRITE);
  if (isWithoutLocks) await page.addInitScript('delete Navigator.prototype.locks;');
  await page.goto(`${baseUrl}/console${address}`);
  await page.getByRole('status').getByText('Live').waitFor();
  return page;
}

/** Notes all words of states that the page shows from now on, and whether it is loaded again. */
const watchStates = `
  window.kept = true;
  window.words = new Set();
  window.noteWords = () => {
    for (const word of document.querySelectorAll('main .state .w')) words.add(word.textContent);
  };
  noteWords();
  new MutationObserver(noteWords).observe(document.body, { subtree: true, childList: true, characterData: true });
  undefined;
`;
const wordsOn = async (page: Page): Promise<string[]> => (await page.evaluate<string[]>('[...words]')).toSorted();

const lost = (page: Page) => page.getByText('The connection to Davit is lost.');
const printed = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, index) => `line ${from + index}`);

function print(service: string, from: number, to: number): void {
  const [instance] = fake.instances.filter((one) => one.service === service);
  for (const line of printed(from, to)) fake.print(instance?.id ?? '', line);
}

test('a killed server is seen at once on all pages; they say nothing false, come back by themselves, and lose no line', async () => {
  const { production, services } = shop;
  const address = `/environment/${production}/service`;
  const overview = await open('/');
  const service = await open(`${address}/${services.web}`);
  const logs = await open(`${address}/${services.worker}/logs`);
  await overview.getByText('Nothing: no service fails.').waitFor();
  await service.locator('.facts').getByText('Running', { exact: true }).waitFor();
  print(services.worker, 0, 40);
  await logs.getByText('line 39', { exact: true }).waitFor();
  const pages = [overview, service, logs];
  for (const page of pages) await page.evaluate(watchStates);
  const before = await Promise.all(pages.map(wordsOn));

  const killed = performance.now();
  await server.kill();
  await Promise.all(pages.map((page) => lost(page).waitFor({ timeout: seenWithin })));
  expect(performance.now() - killed).toBeLessThan(seenWithin);
  for (const page of pages) expect(await page.getByRole('status').getByText('Live').count()).toBe(0);
  // A program goes on printing while nobody collects its output, and another one ends.
  print(services.worker, 40, 80);
  await service.getByRole('button', { name: 'Restart' }).click();
  await service.getByRole('dialog').getByRole('button', { name: 'Restart' }).click();
  await service.getByRole('alert').getByText('The server does not answer.').waitFor();
  expect(await Promise.all(pages.map(wordsOn))).toEqual(before);

  await server.start();
  await Promise.all(pages.map((page) => page.getByRole('status').getByText('Live').waitFor()));
  for (const page of pages) await lost(page).waitFor({ state: 'detached' });
  print(services.worker, 80, 120);
  await logs.getByText('line 119', { exact: true }).waitFor();
  await logs.getByRole('button', { name: 'Pause' }).waitFor();
  await logs.getByText('120 lines', { exact: true }).waitFor();
  expect(await linesOf(logs)).toEqual(printed(0, 120));
  // No page was loaded again, and none showed a state that was never so.
  for (const page of pages) expect(await page.evaluate('window.kept')).toBe(true);
  expect(await Promise.all(pages.map(wordsOn))).toEqual(before);

  // A change after that is seen, too.
  await accepted(() => shop.api.call('stopApplication', { params: { applicationId: services.web } }));
  await service.locator('.facts').getByText('Stopped').first().waitFor();
  for (const page of pages) await page.close();
  expect(complaints).toEqual([]);
}, 120_000);

/** Returns all lines of a log, of which only those in view are in the page. */
async function linesOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(async () => {
    const box = document.querySelector('.lines');
    const seen = new Map();
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    for (let top = 0; ; top += box.clientHeight / 2) {
      box.scrollTop = top;
      await frame();
      for (const line of document.querySelectorAll('.lines [data-index]'))
        seen.set(Number(line.dataset.index), line.querySelector('.m').textContent);
      if (top + box.clientHeight >= box.scrollHeight) break;
    }
    return [...seen].toSorted(([one], [other]) => one - other).map(([, text]) => text);
  })()`);
}

test('where tabs share the stream by a lease, another tab takes over at once when its holder is closed', async () => {
  const { production, services, api } = shop;
  let streams = 0;
  const { pathname } = new URL(`${baseUrl}/organization/${shop.organization.id}/stream`);
  browser.context.on('request', (request) => {
    if (new URL(request.url()).pathname === pathname) streams += 1;
  });
  const holder = await open(`/environment/${production}`, { isWithoutLocks: true });
  const other = await open(`/environment/${production}/service/${services.worker}`, { isWithoutLocks: true });
  expect(streams).toBe(1);
  await other.evaluate('window.kept = true');
  await holder.close({ runBeforeUnload: true });
  const closed = performance.now();
  await expect.poll(() => streams, { interval: 20 }).toBe(2);
  // The lease of a tab that crashed runs out after four seconds; one that is closed gives it back.
  expect(performance.now() - closed).toBeLessThan(seenWithin);
  await other.getByRole('status').getByText('Live').waitFor();
  await accepted(() => api.call('stopApplication', { params: { applicationId: services.worker } }));
  await other.locator('.facts').getByText('Stopped').first().waitFor();
  expect(await other.evaluate('window.kept')).toBe(true);
  await other.close();
}, 60_000);

test('an answer from before the stream began is not taken for what is so now', async () => {
  const { api, staging } = shop;
  await accepted(() => api.call('deployEnvironment', { params: { environmentId: staging } }));
  await hasState(shop, 'DEPLOYED', staging);
  const [answered, changed, isLive] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const page = await browser.context.newPage();
  await page.addInitScript((text: string) => sessionStorage.setItem('davit.token', text), shop.organization.tokens.WRITE);
  await page.route(/\/statusesWithStages/, async (route) => {
    const response = await route.fetch();
    answered.resolve();
    await isLive.promise;
    await route.fulfill({ response });
  });
  await page.route(/\/organization\/[^/]+\/stream/, async (route) => {
    await changed.promise;
    await route.continue();
  });
  await page.goto(`${baseUrl}/console/environment/${staging}`);
  await answered.promise;
  await accepted(() => api.call('stopEnvironment', { params: { environmentId: staging } }));
  await hasState(shop, 'STOPPED', staging);
  changed.resolve();
  await page.getByRole('status').getByText('Live').waitFor();
  isLive.resolve();
  await page.locator('.facts').getByText('Stopped').first().waitFor();
  expect(await page.locator('.facts').getByText('Deployed', { exact: true }).count()).toBe(0);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.close();
}, 60_000);

test('a page whose script cannot be had is loaded again once, and says what is wrong', async () => {
  const { production, services } = shop;
  const page = await open(`/environment/${production}/service/${services.worker}`);
  let loads = 0;
  page.on('load', () => (loads += 1));
  await page.route(/assets\/logs-[^/]*\.js/, (route) => route.abort());
  await page.getByRole('navigation', { name: 'Service' }).getByRole('link', { name: 'Logs' }).click();
  await page.getByRole('heading', { name: 'The console failed' }).waitFor();
  expect(loads).toBeLessThanOrEqual(2);
  await page.close();
}, 60_000);
