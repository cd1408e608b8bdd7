import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from '@davit/testkit/browser';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endJobs } from './shop.ts';
import { picture, startWorld, violationsOf, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world.close());

const text = (page: Page, words: string | RegExp) => page.getByText(words).first();
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).first();
/** Milliseconds after which a lost connection must be seen. */
const seenWithin = 3000;
/** Milliseconds after which a change is on the page; on a quiet machine it takes less than 300. */
const liveWithin = 1500;

test('the first view is small, cached, and comes with a policy that allows no other host and no inline script', async () => {
  const { baseUrl } = world.proxy;
  const page = await fetch(`${baseUrl}/`, { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(page.url).toBe(`${baseUrl}/console/`);
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'self';/);
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const etag = page.headers.get('etag') ?? '';
  const again = await fetch(page.url, { headers: { 'if-none-match': etag } });
  expect(again.status).toBe(304);
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]* src=)/);
  const sizes = { js: 0, css: 0 };
  for (const [, address = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const file = await fetch(new URL(address, page.url));
    expect(file.headers.get('cache-control')).toContain('immutable');
    const bytes = gzipSync(Buffer.from(await file.arrayBuffer())).length;
    if (address.endsWith('.js')) sizes.js += bytes;
    if (address.endsWith('.css')) sizes.css += bytes;
  }
  // Pages that are loaded when they are opened have a budget of their own.
  const assets = path.join(import.meta.dirname, '../../packages/console/dist/assets');
  const lazy = readdirSync(assets).filter((name) => name.endsWith('.js') && !html.includes(name));
  const large = lazy.filter((name) => gzipSync(readFileSync(path.join(assets, name))).length > 60 * 1024);
  expect(large).toEqual([]);
  expect(sizes.js).toBeGreaterThan(0);
  expect(sizes.js).toBeLessThanOrEqual(170 * 1024);
  expect(sizes.css).toBeLessThanOrEqual(25 * 1024);
  expect(await (await fetch(`${baseUrl}/`)).json()).toMatchObject({ name: 'Davit', console: '/console/' });
  expect((await fetch(`${baseUrl}/console/assets/gone.js`)).status).toBe(404);
});

test('a token signs in, a wrong one is refused, and one that is revoked leads back to the sign-in', async () => {
  const { browser, proxy, organization, api, server } = world;
  const page = await browser.context.newPage();
  await page.goto(`${proxy.baseUrl}/console/environment/${world.production}`);
  await button(page, 'Use an API token').click();
  await page.getByLabel('API token').fill('dvt_wrong');
  await button(page, 'Sign in').click();
  await text(page, 'The server does not know this token').waitFor();
  const params = { organizationId: organization.id };
  const admin = server.client();
  const made = await admin.call('createOrganizationApiToken', { params, body: { name: 'short', scope: 'READ' } });
  await page.getByLabel('API token').fill(made.token);
  await page.keyboard.press('Enter');
  // The address that was asked for is shown after the sign-in.
  await page.getByRole('heading', { name: 'production' }).waitFor();
  const kept = await page.evaluate<string>('JSON.stringify(localStorage) + document.documentElement.outerHTML + location.href');
  expect(kept).not.toContain(made.token);
  await button(page, 'Deploy').waitFor();
  expect(await button(page, 'Deploy').getAttribute('aria-disabled')).toBe('true');
  expect(await button(page, 'Deploy').getAttribute('title')).toMatch(/READ/);
  await admin.call('deleteOrganizationApiToken', { params: { ...params, apiTokenId: made.id } });
  // The stream ends, and with it the session: nobody has to touch the page.
  await text(page, 'Your session has ended.').waitFor();
  expect(await api.call('getEnvironmentStatus', { params: { environmentId: world.production } })).toMatchObject({
    state: 'DEPLOYMENT_ERROR',
  });
  await page.close();
});

test('axe finds nothing on any page, in both themes at three widths, and no page is wider than its window', async () => {
  const { production, services } = world;
  const pages = {
    overview: '/',
    environment: `/environment/${production}`,
    deployments: `/environment/${production}/deployments`,
    deployment: `/environment/${production}/deployment/${production}-2`,
    service: `/environment/${production}/service/${services.api}`,
    logs: `/environment/${production}/service/${services.web}/logs`,
    history: `/environment/${production}/service/${services.api}/history`,
    parts: '/parts',
    missing: `/environment/${services.api}`,
  };
  const found: string[] = [];
  for (const [name, address] of Object.entries(pages)) {
    const page = await world.open(address);
    await page.getByRole('status').getByText('Live').first().waitFor();
    await page
      .getByLabel('Loading')
      .first()
      .waitFor({ state: name === 'parts' ? 'visible' : 'detached' });
    for (const width of [390, 1280, 1920]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await picture(page, `${name}-${width}-${colorScheme}`);
        const problems = await violationsOf(page);
        if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth'))
          problems.push('is wider than its window');
        found.push(...problems.map((problem) => `${name} ${width} ${colorScheme}: ${problem}`));
      }
    }
    await page.close();
  }
  expect(found).toEqual([]);
  // 54 looks at pages take 20 seconds, and longer beside other tests.
}, 180_000);

test('a failure explains itself; a second try is followed live in two tabs, which share one stream', async () => {
  const { production, services, server, organization } = world;
  const streams = () => world.requests.filter((url) => url.includes(`/organization/${organization.id}/stream`)).length;
  const before = streams();
  const overview = await world.open('/');
  await overview.getByText('Shop / production / api').waitFor();
  await overview.getByText('Nothing listens on port 8080.').first().waitFor();
  await overview.getByText('Shop / production / api').click();
  await overview.getByText('listening on 127.0.0.1:8080').waitFor();
  await overview.getByRole('link', { name: 'Open deployment 2' }).click();
  await overview.getByRole('heading', { name: 'Deployment 2' }).waitFor();
  await overview.getByText('PORT_NOT_LISTENING').waitFor();
  const other = await world.open(`/environment/${production}`);
  await other.getByText('Why, and what to do').waitFor();
  expect(streams() - before).toBe(1);

  endJobs(server, services.migrate);
  await other.evaluate(`
    window.kept = true;
    window.seen = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (!document.body.textContent.includes('Why, and what to do')) resolve(true);
      });
      watch.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    undefined;`);
  await button(overview, 'Try again').click();
  expect(await other.evaluate('window.seen')).toBe(true);
  await world.hasState(production, 'DEPLOYED');
  await other.getByText('Deployment error').waitFor({ state: 'detached' });
  await other.getByText('Why, and what to do').waitFor({ state: 'detached' });
  expect(await other.evaluate('window.kept')).toBe(true);

  // When the tab that holds the stream is closed, another one takes over.
  await overview.close();
  await expect.poll(() => streams() - before).toBe(2);
  await other.goto(`${world.proxy.baseUrl}/console/environment/${production}/service/${services.web}`);
  await button(other, 'Stop').click();
  await other.getByRole('dialog').getByText('It no longer answers until it is deployed again.').waitFor();
  await picture(other, 'confirm');
  await other.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await other.locator('.facts').getByText('Stopped').first().waitFor();
  expect(await button(other, 'Restart').getAttribute('title')).toBe('The service is stopped.');
  await button(other, 'Deploy').click();
  await other.locator('.facts').getByText('Running').waitFor();
  await other.getByRole('navigation', { name: 'Service' }).getByText('History').click();
  await other.getByRole('button', { name: 'Roll back' }).last().click();
  await other.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await expect.poll(() => other.getByRole('row', { name: /^Deployment \d/ }).count()).toBe(4);
  await other.close();
});

test('a connection that is lost is seen within three seconds, and the page catches up without a reload', async () => {
  const { proxy, staging, api } = world;
  const page = await world.open(`/environment/${staging}`);
  await page.getByRole('status').getByText('Live').waitFor();
  await page.locator('.facts').getByText('Deployed').first().waitFor();
  await page.evaluate('window.kept = true');
  const began = performance.now();
  await proxy.cut();
  await text(page, 'The connection to Davit is lost.').waitFor({ timeout: seenWithin });
  expect(performance.now() - began).toBeLessThan(seenWithin);
  await picture(page, 'lost');
  expect(await violationsOf(page)).toEqual([]);
  await api.call('stopEnvironment', { params: { environmentId: staging } });
  await world.hasState(staging, 'STOPPED');
  await proxy.restore();
  await page.locator('.facts').getByText('Stopped').first().waitFor();
  await page.getByRole('status').getByText('Live').waitFor();
  expect(await page.evaluate('window.kept')).toBe(true);
  const asked = performance.now();
  await api.call('deployEnvironment', { params: { environmentId: staging } });
  await page
    .locator('.facts')
    .getByText(/queued|Waiting|Building|Deploying|Deployed/)
    .first()
    .waitFor();
  expect(performance.now() - asked).toBeLessThan(liveWithin);
  await world.hasState(staging, 'DEPLOYED');
  await page.close();
});

test('logs are followed, searched and paused; hostile names and lines harm nothing', async () => {
  const { production, services, server, api, organization } = world;
  const markup = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>';
  const hostile = `‮${markup}`;
  const project = await api.call('createProject', { params: { organizationId: organization.id }, body: { name: 'a<b>“‮x' } });
  await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: '‮<script>1' } });
  const page = await world.open(`/environment/${production}/service/${services.worker}/logs`);
  await page.getByText('No output yet').waitFor();
  const [instance] = server.fake.instances.filter(({ service }) => service === services.worker);
  const print = (line: string): void => server.fake.print(instance?.id ?? '', line);
  print(hostile);
  print(`\u001b[31mred\u001b[0m \u001b]0;title\u0007and \u001b[2Jcleared`);
  print('x'.repeat(10_000));
  for (let index = 0; index < 300; index += 1) print(`line ${index}`);
  await page.getByText('line 299', { exact: true }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  // Only the lines in view are in the page.
  expect(await page.locator('.line').count()).toBeLessThan(120);
  const search = page.getByLabel('Search the loaded lines');
  await search.fill('CLEARED');
  await text(page, '1 of 303 lines').waitFor();
  expect(await page.locator('.line .m').first().textContent()).toBe('red and cleared');
  await search.fill('onerror');
  await page.getByText(markup).waitFor();
  expect(page.url()).toContain('find=onerror');
  await search.fill('');
  await button(page, 'Wrap').click();
  await button(page, 'Pause').click();
  print('after the pause');
  await button(page, 'Continue, 1 new line').click();
  await page.getByText('after the pause').waitFor();
  await picture(page, 'hostile');
  await page.goto(`${world.proxy.baseUrl}/console/`);
  await page.getByText('<script>1').first().waitFor();
  expect(await page.evaluate('window.harmed')).toBeUndefined();
  await page.close();
});

test('services are found and opened by keyboard alone, and nothing went wrong in any page', async () => {
  const page = await world.open('/');
  await page.getByRole('status').getByText('Live').waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.getByRole('option').nth(3).waitFor();
  await page.keyboard.type('production cache');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'cache' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('production worker variables');
  await page.getByRole('option', { name: 'worker: Variables' }).waitFor();
  await page.keyboard.press('Enter');
  await text(page, 'DAVIT_APPLICATION_ID').waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.press('Escape');
  await page.getByRole('combobox').waitFor({ state: 'detached' });
  await page.close();
  expect(world.complaints).toEqual([]);
});
