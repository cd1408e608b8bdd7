import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { findBrowser, openBrowser, type Page, type TestBrowser } from '@davit/testkit/browser';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { expect, vi } from 'vitest';
import { startProxy, type Proxy } from './proxy.ts';
import { createShop, neverListens, type Shop } from './shop.ts';

/** A browser before a server whose shop was deployed; the second deployment of `api` failed. */
export interface World extends Shop {
  readonly server: RunningServer;
  readonly proxy: Proxy;
  readonly browser: TestBrowser;
  /** Faults of the pages: exceptions, refused resources, requests to other hosts. */
  readonly complaints: readonly string[];
  /** The requests that the pages sent. */
  readonly requests: readonly string[];
  /** Opens a page in a new tab, signed in with the token (default: scope WRITE). */
  open(address: string, token?: string): Promise<Page>;
  /** Waits until the newest deployment of the environment has this state. */
  hasState(environmentId: string, state: string): Promise<void>;
  close(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  // Builds the console, if its sources are newer than what was built.
  execFileSync('tools/dependencies.sh', { cwd: path.join(import.meta.dirname, '../..'), stdio: 'ignore' });
  const executable = findBrowser();
  if (executable === null) throw new Error('there is no browser: install the package chromium, or set DAVIT_TEST_BROWSER');
  const server = await startRunningServer();
  const shop = await createShop(server);
  const [proxy, browser] = await Promise.all([startProxy(server.baseUrl), openBrowser(executable)]);
  const hasState = async (environmentId: string, state: string): Promise<void> => {
    const read = () => shop.api.call('getEnvironmentStatus', { params: { environmentId } });
    await vi.waitFor(async () => expect((await read()).state).toBe(state), 15_000);
  };
  await deployShop(server, shop, hasState);
  browser.context.setDefaultTimeout(10_000);
  const complaints: string[] = [];
  const requests: string[] = [];
  browser.context.on('request', (request) => {
    requests.push(request.url());
    if (!request.url().startsWith(proxy.baseUrl)) complaints.push(`asked ${request.url()}`);
  });
  browser.context.on('weberror', (error) => complaints.push(error.error().message));
  browser.context.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) complaints.push(message.text());
  });
  const open = async (address: string, token = shop.organization.tokens.WRITE): Promise<Page> => {
    const page = await browser.context.newPage();
    await page.addInitScript((text: string) => sessionStorage.setItem('davit.token', text), token);
    await page.goto(`${proxy.baseUrl}/console${address}`);
    return page;
  };
  const close = async (): Promise<void> => {
    await browser.close();
    await proxy.close();
    await server.close();
  };
  return { ...shop, server, proxy, browser, complaints, requests, open, hasState, close };
}

async function deployShop(server: RunningServer, { api, production, staging, services }: Shop, hasState: World['hasState']) {
  await api.call('deployEnvironment', { params: { environmentId: production } });
  await api.call('deployEnvironment', { params: { environmentId: staging } });
  await hasState(production, 'DEPLOYED');
  neverListens(server, services.api);
  await api.call('editApplication', { params: { applicationId: services.api }, body: { memory: 600 } });
  await api.call('deployApplication', { params: { applicationId: services.api } });
  await hasState(production, 'DEPLOYMENT_ERROR');
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe finds on the page, one line for each violation. */
export async function violationsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe);
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  );
}

/** Keeps a picture of the page in the folder of DAVIT_TEST_PICTURES, if that is set. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['DAVIT_TEST_PICTURES'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

const looks = 3;
/** The height of a phone, of a tablet, and of a screen. */
const heightOf = (width: number): number => (width === 390 ? 844 : width === 768 ? 1024 : 800);

/**
 * Looks at a page in both themes at three widths: keeps pictures, and fails if axe finds something or the page is wider
 * than its window. axe looks up to three times, since a change of the theme may be half done.
 */
export async function looksAt(page: Page, name: string, widths: readonly number[] = [390, 768, 1280]): Promise<void> {
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: heightOf(width) });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      let problems = await violationsOf(page);
      for (let look = 1; look < looks && problems.length > 0; look += 1) problems = await violationsOf(page);
      await picture(page, `${name}-${width}-${colorScheme}`);
      if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth'))
        problems.push('is wider than its window');
      found.push(...problems.map((problem) => `${name} ${width} ${colorScheme}: ${problem}`));
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(found).toEqual([]);
}
