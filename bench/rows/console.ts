import { testDatabaseVariable } from '@davit/testkit/global-database';
import { follow, hasState, heapOf, openLog, scroll, startLoads, timeOf, type Loads } from '../../e2e/console/loads.ts';
import type { Measurement, Row, Unit } from '../row.ts';
import { toSeries } from '../statistics.ts';

/** The factor by which the pages' processor is slowed down: that of a phone against that of a workstation. */
const slowness = 4;
const lines = 100_000;

export const consoleRow: Row = {
  name: 'console',
  about: `pages in a real browser whose processor is ${slowness} times slower, with 1,000 services; a log of 100,000 lines`,
  run: async (location) => {
    process.env[testDatabaseVariable] ??= await location.database('console');
    const loads = await startLoads();
    try {
      const rounds = location.rounds(9, 3);
      return [...(await pages(loads, rounds)), ...(await keys(loads, rounds)), await live(loads, rounds), ...(await log(loads))];
    } finally {
      await loads.close();
    }
  },
};

/** The first view and each later page. */
async function pages(loads: Loads, rounds: number): Promise<Measurement[]> {
  const taken = { overview: [] as number[], environment: [] as number[], service: [] as number[], logs: [] as number[] };
  const large = { 200: [] as number[], 1000: [] as number[] };
  const graph: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const page = await loads.open(loads.many, '/', slowness);
    taken.overview.push(await timeOf(page, 'first row'));
    await page.getByText('51 environments, 1,001 services').waitFor();
    const services = 'nav[aria-label="Environment"] ~ .box tbody tr:not(.stage)';
    taken.environment.push(await follow(page, 'main table.list a[href*="/environment/"]', services));
    taken.service.push(await follow(page, 'main table.list a[href*="/service/"]', 'nav[aria-label="Service"]'));
    taken.logs.push(await follow(page, 'nav[aria-label="Service"] a[href$="/logs"]', 'main input[type="search"]'));
    await page.close();
    for (const count of [200, 1000] as const) {
      const other = await loads.open(loads.large[count], `/environment/${loads.large[count].environmentId}`, slowness);
      large[count].push(await timeOf(other, 'first row'));
      if (count === 200) {
        await other.getByText('copy 200', { exact: true }).first().waitFor();
        graph.push(await follow(other, 'main .tabs a[href$="/graph"]', '.graph li li:nth-child(200)'));
      }
      await other.close();
    }
  }
  return [
    line('the first row of the overview, 1,000 services', 'ms', taken.overview, 1000),
    line('from there to an environment', 'ms', taken.environment, 200),
    line('from there to a service', 'ms', taken.service, 200),
    line('from there to its log', 'ms', taken.logs, 200),
    line('the first row of an environment, 200 services', 'ms', large[200], 1000),
    line('from there to the graph of them', 'ms', graph, 200),
    line('the first row of an environment, 1,000 services', 'ms', large[1000], 1000),
  ];
}

/** A key in the palette, which looks through all services. */
async function keys(loads: Loads, rounds: number): Promise<Measurement[]> {
  const page = await loads.open(loads.many, '/', slowness);
  await page.getByText('51 environments, 1,001 services').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('option').nth(49).waitFor();
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const name = `later key ${round}`;
    await page.getByRole('combobox').fill('');
    await page.getByRole('option').nth(49).waitFor();
    await page.evaluate(`
      watchFor(${JSON.stringify(name)}, '#found:not(:has(li:nth-child(2)))');
      const field = document.querySelector('[role=combobox]');
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, 'shop live web');
      field.dispatchEvent(new Event('input', { bubbles: true }));
      undefined;`);
    taken.push(await timeOf(page, name));
  }
  await page.close();
  return [line('a key in the palette, 1,000 services', 'ms', taken, 200)];
}

/** From a change of a state to the page. */
async function live(loads: Loads, rounds: number): Promise<Measurement> {
  const { api, serviceId, environmentId } = loads.many;
  const page = await loads.open(loads.many, `/environment/${environmentId}`);
  await page.getByRole('status').getByText('Live').waitFor();
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const deployed = page.locator('.facts .state').getByText('Deployed', { exact: true });
    await api.call('deployApplication', { params: { applicationId: serviceId } });
    await hasState(api, serviceId, 'DEPLOYED');
    const stored = performance.now();
    await deployed.waitFor();
    taken.push(performance.now() - stored);
    await api.call('stopApplication', { params: { applicationId: serviceId } });
    await hasState(api, serviceId, 'STOPPED');
  }
  await page.close();
  return line('a change of a state until it is on the page', 'ms', taken, 300);
}

async function log(loads: Loads): Promise<Measurement[]> {
  const { page, print } = await openLog(loads, loads.many);
  await print(lines);
  await page.getByText(`${lines.toLocaleString('en')} lines`).waitFor({ timeout: 120_000 });
  const heap = await heapOf(page);
  const frames = await scroll(page, '.lines', 300);
  await page.close();
  return [
    { ...line('95 of 100 frames of a log that is scrolled', 'ms', [frames.p95], 17), details: frames },
    line('memory of a log of 100,000 lines', 'MB', [heap], 150),
  ];
}

function line(what: string, unit: Unit, taken: readonly number[], most: number): Measurement {
  const davit = toSeries([...taken]);
  return { what, unit, davit, floor: null, ratio: null, target: `≤ ${most}`, isMet: davit.median <= most };
}
