import type { Request } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { follow, heapOf, openLog, processorOf, scroll, startLoads, timeOf, type Loads } from './loads.ts';

/*
 * Pages with much in them. Requests, memory and the processor time of a page have tight bounds: other programs on the
 * machine do not change them. `npm run bench -- console` measures the times that people wait.
 */

let loads: Loads;
beforeAll(async () => {
  loads = await startLoads();
}, 180_000);
afterAll(() => loads.close());

/** Milliseconds until the first row, on a machine that is busy with other tests. */
const longestWait = 10_000;
/** Milliseconds between two frames at 60 frames a second. */
const frame = 1000 / 60;

test('an overview of 1,000 services is read by few requests', async () => {
  const requests: string[] = [];
  const count = (request: Request): void => {
    if (!request.url().includes('/console/')) requests.push(new URL(request.url()).pathname);
  };
  loads.browser.context.on('request', count);
  const page = await loads.open(loads.many, '/');
  expect(await timeOf(page, 'first row')).toBeLessThan(longestWait);
  await page.getByText('51 environments, 1,001 services').waitFor();
  await page.getByRole('status').getByText('Live').waitFor();
  expect(await processorOf(page)).toBeLessThan(1000);
  loads.browser.context.off('request', count);
  // Organizations, projects and the overview, once more when the stream is open, and the stream itself.
  expect(requests.filter((one) => one.endsWith('/overview')).length).toBeGreaterThan(0);
  expect(requests.slice(9)).toEqual([]);
  expect((await scroll(page, 'window', 60)).processor).toBeLessThan(frame);
  // The palette looks through all of them.
  await page.keyboard.press('Control+k');
  await page.getByRole('option').nth(49).waitFor();
  await page.keyboard.type('shop live web');
  await expect.poll(() => page.getByRole('option').count()).toBe(1);
  expect(await heapOf(page)).toBeLessThan(50);
  await page.close();
}, 60_000);

test.each([200, 1000] as const)(
  'an environment of %d services shows them, and scrolls',
  async (count) => {
    const place = loads.large[count];
    const page = await loads.open(place, `/environment/${place.environmentId}`);
    expect(await timeOf(page, 'first row')).toBeLessThan(longestWait);
    await page.getByText(`copy ${count}`, { exact: true }).first().waitFor();
    expect(await processorOf(page)).toBeLessThan(3000);
    expect((await scroll(page, 'window', 60)).processor).toBeLessThan(frame);
    expect(await heapOf(page)).toBeLessThan(50);
    await page.close();
  },
  60_000,
);

test('a graph of 200 services is drawn, and one of 1,000 leads to the table', async () => {
  const place = loads.large[200];
  const page = await loads.open(place, `/environment/${place.environmentId}`);
  await page.getByText('copy 200', { exact: true }).first().waitFor();
  const before = await processorOf(page);
  await follow(page, 'main .tabs a[href$="/graph"]', '.graph li li:nth-child(200)');
  expect((await processorOf(page)) - before).toBeLessThan(1000);
  await page.getByText('No variable of a service refers to another service.').waitFor();
  expect((await scroll(page, '.graph', 60)).processor).toBeLessThan(frame);
  expect(await heapOf(page)).toBeLessThan(50);
  await page.close();
  const other = await loads.open(loads.large[1000], `/environment/${loads.large[1000].environmentId}/graph`);
  await other.getByText('This environment has 1,000 services').waitFor();
  await other.getByRole('link', { name: 'Show the table' }).click();
  await other.getByText('copy 1', { exact: true }).first().waitFor();
  await other.close();
}, 60_000);

test('1,000 variables are shown, scroll, and are filtered as fast as somebody types', async () => {
  const { api, serviceId, environmentId } = loads.many;
  const names = Array.from({ length: 1000 }, (_, index) => `VARIABLE_${index}`);
  const vars = names.map((name) => ({ name, value: `value of ${name}`, scope: 'APPLICATION' as const, is_secret: false }));
  await api.call('importEnvironmentVariable', { params: { applicationId: serviceId }, body: { overwrite: false, vars } });
  const page = await loads.open(loads.many, `/environment/${environmentId}/service/${serviceId}/variables`);
  expect(await timeOf(page, 'first row')).toBeLessThan(longestWait);
  const key = (name: string) => page.locator('td.key').getByText(name, { exact: true });
  await key('VARIABLE_999').waitFor();
  expect((await scroll(page, 'window', 60)).processor).toBeLessThan(frame);
  await page.getByLabel('Filter by key, value or origin').focus();
  const before = await processorOf(page);
  const typed = 'VARIABLE_77';
  await page.keyboard.type(typed);
  await key('VARIABLE_100').waitFor({ state: 'detached' });
  await key('VARIABLE_779').waitFor();
  expect(((await processorOf(page)) - before) / typed.length).toBeLessThan(100);
  expect(await heapOf(page)).toBeLessThan(50);
  await page.close();
}, 60_000);

test('100,000 lines of a log are followed within 150 MB, scroll by 60 frames a second, and are searched', async () => {
  const { page, print } = await openLog(loads, loads.many);
  await print(100_000);
  const count = () => page.locator('.toolbar .hint').textContent();
  await expect.poll(count, { timeout: 100_000 }).toBe('100,000 lines');
  expect(await heapOf(page)).toBeLessThan(150);
  expect((await scroll(page, '.lines', 300)).processor).toBeLessThan(frame);
  await page.getByLabel('Search the loaded lines').fill('orders/99999');
  await page.getByText('1 of 100,000 lines').waitFor();
  await page.getByLabel('Search the loaded lines').fill('');
  await page.getByText('100,000 lines', { exact: true }).waitFor();
  await page.close();
}, 180_000);
