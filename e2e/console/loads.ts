import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Client } from '@davit/client';
import { findBrowser, openBrowser, type CDPSession, type Page, type TestBrowser } from '@davit/testkit/browser';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { fill, servicesPerEnvironment } from '../../bench/rows/fill.ts';
import { eventually } from '../support/eventually.ts';

/** An organization with many services and one with large environments, before a real browser. */
export interface Loads {
  readonly server: RunningServer;
  readonly browser: TestBrowser;
  /** The organization with 1,000 services in 50 environments. */
  readonly many: Place;
  /** Organizations whose `environmentId` names an environment with 200 or 1,000 services. */
  readonly large: Readonly<Record<200 | 1000, Place>>;
  /** Opens a page. `slowness`: the factor by which its processor is slowed down. */
  readonly open: (place: Place, address: string, slowness?: number) => Promise<Page>;
  close(): Promise<void>;
}

export interface Place {
  readonly organizationId: string;
  readonly environmentId: string;
  readonly serviceId: string;
  readonly token: string;
  readonly api: Client;
}

export async function startLoads(): Promise<Loads> {
  execFileSync('tools/dependencies.sh', { cwd: path.join(import.meta.dirname, '../..'), stdio: 'ignore' });
  const executable = findBrowser();
  if (executable === null) throw new Error('there is no browser: install the package chromium, or set DAVIT_TEST_BROWSER');
  // The service prints 100,000 lines at once, and none of them is left out.
  const server = await startRunningServer({ DAVIT_LOG_LINES_PER_SECOND: '0' });
  const many = await makePlace(server);
  await fill(server.database.connectionString, many.environmentId, 1000 / servicesPerEnvironment);
  const large = { 200: await makeLarge(server, 200), 1000: await makeLarge(server, 1000) };
  const browser = await openBrowser(executable);
  browser.context.setDefaultTimeout(60_000);
  const open: Loads['open'] = async ({ token, organizationId }, to, slowness = 1) => {
    const page = await browser.context.newPage();
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    sessions.set(page, session);
    if (slowness > 1) await session.send('Emulation.setCPUThrottlingRate', { rate: slowness });
    await page.addInitScript((text: string) => sessionStorage.setItem('davit.token', text), token);
    await page.addInitScript(watch);
    await page.goto(`${server.baseUrl}/console${to === '/' ? `/organization/${organizationId}` : to}`);
    return page;
  };
  const close = async (): Promise<void> => {
    await browser.close();
    await server.close();
  };
  return { server, browser, many, large, open, close };
}

/** Makes an environment with one application that was deployed and stopped. */
async function makePlace(server: RunningServer): Promise<Place> {
  const { api, environmentId, organizationId, organization } = await makeTestEnvironment(server);
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const ports = [{ internal_port: 80, publicly_accessible: true }];
  const body = { name: 'web', dockerfile_path: 'Dockerfile', git_repository, ports, healthchecks: {} };
  const { id: serviceId } = await api.call('createApplication', { params: { environmentId }, body });
  const params = { applicationId: serviceId };
  for (const [call, state] of [
    ['deployApplication', 'DEPLOYED'],
    ['stopApplication', 'STOPPED'],
  ] as const) {
    await api.call(call, { params });
    await hasState(api, serviceId, state);
  }
  return { organizationId, environmentId, serviceId, token: organization.tokens.WRITE, api };
}

/** Waits until an application has this state. */
export async function hasState(api: Client, applicationId: string, state: string): Promise<void> {
  const read = async (): Promise<true | undefined> =>
    (await api.call('getApplicationStatus', { params: { applicationId } })).state === state ? true : undefined;
  await eventually(read, `the state ${state}`);
}

/** Makes an environment with this number of services. */
async function makeLarge(server: RunningServer, services: number): Promise<Place> {
  const place = await makePlace(server);
  const { environmentIds } = await fill(server.database.connectionString, place.environmentId, 1, services);
  return { ...place, environmentId: environmentIds[0] ?? '' };
}

const sessions = new WeakMap<Page, CDPSession>();

/** Returns the processor time in milliseconds that the main thread of a page has spent. */
export async function processorOf(page: Page): Promise<number> {
  const { metrics = [] } = (await sessions.get(page)?.send('Performance.getMetrics')) ?? {};
  return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
}

/** Runs before the page: notes when the first element of a selector is there, in milliseconds after the navigation. */
const watch = `
  window.watchFor = (name, selector, count = 1) => {
    const times = (window.times ??= {});
    delete times[name];
    const from = performance.now();
    const look = () => {
      if (document.querySelectorAll(selector).length < count) return false;
      times[name] ??= performance.now() - (name.startsWith('later ') ? from : 0);
      return true;
    };
    if (look()) return;
    const observer = new MutationObserver(() => look() && observer.disconnect());
    observer.observe(document, { subtree: true, childList: true });
  };
  watchFor('first row', 'main table.list tbody tr:not(.stage), main .line');
`;

/** Returns the milliseconds after which the page had what was watched for. */
export async function timeOf(page: Page, name: string): Promise<number> {
  const read = async (): Promise<number | undefined> =>
    (await page.evaluate<number | null>(`window.times?.[${JSON.stringify(name)}] ?? null`)) ?? undefined;
  return eventually(read, name);
}

/**
 * Follows a link to another page. Returns the milliseconds until that page has the elements, which the page before must
 * not have.
 */
export async function follow(page: Page, link: string, elements: string): Promise<number> {
  const [from, to] = [JSON.stringify(link), JSON.stringify(elements)];
  await page.evaluate(`watchFor('later page', ${to}); document.querySelector(${from}).click();`);
  return timeOf(page, 'later page');
}

interface OpenLog {
  readonly page: Page;
  /** Lets the service print so many lines. */
  readonly print: (count: number) => Promise<void>;
}

/** Deploys the service of a place, and opens the page of its log before it prints anything. */
export async function openLog({ server, open }: Loads, place: Place): Promise<OpenLog> {
  const { api, serviceId, environmentId } = place;
  const params = { applicationId: serviceId };
  await api.call('deployApplication', { params });
  await hasState(api, serviceId, 'DEPLOYED');
  const page = await open(place, `/environment/${environmentId}/service/${serviceId}/logs`);
  await page.getByText('No output yet').waitFor();
  const id = server.fake.instances.find(({ service }) => service === serviceId)?.id ?? '';
  const print = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1) {
      server.fake.print(id, `10.0.0.${index % 250} - GET /orders/${index} 200 ${index % 977} "Mozilla/5.0 (X11)" ${index}`);
      if (index % 1000 === 0) await new Promise((resolve) => void setImmediate(resolve));
    }
  };
  return { page, print };
}

/** Returns the megabytes that the scripts of the page use after garbage was collected. */
export async function heapOf(page: Page): Promise<number> {
  const session = sessions.get(page);
  await session?.send('HeapProfiler.collectGarbage');
  const { usedSize = Number.NaN } = (await session?.send('Runtime.getHeapUsage')) ?? {};
  return usedSize / 1_048_576;
}

export interface Frames {
  readonly frames: number;
  /** Milliseconds between two frames. */
  readonly median: number;
  readonly p95: number;
  /** Milliseconds of the main thread's processor time for a frame: other programs do not change them. */
  readonly processor: number;
}

/** Scrolls an element by its whole height, or by the pixels of each frame, and measures the frames. */
export async function scroll(page: Page, selector: string, pixels: number, count = 120): Promise<Frames> {
  const before = await processorOf(page);
  const gaps = await page.evaluate<number[]>(`new Promise((resolve) => {
    const box = ${selector === 'window' ? 'document.scrollingElement' : `document.querySelector(${JSON.stringify(selector)})`};
    const gaps = [];
    let last = performance.now();
    let way = -1;
    const frame = () => {
      const now = performance.now();
      gaps.push(now - last);
      last = now;
      if (box.scrollTop <= 0) way = 1;
      else if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) way = -1;
      box.scrollTop += way * ${pixels};
      if (gaps.length < ${count}) requestAnimationFrame(frame);
      else resolve(gaps);
    };
    requestAnimationFrame(frame);
  })`);
  const processor = (await processorOf(page)) - before;
  const sorted = gaps.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? 0;
  return { frames: gaps.length, median: at(0.5), p95: at(0.95), processor: processor / gaps.length };
}
