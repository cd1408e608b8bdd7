import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createShop, neverListens, type Shop } from '../console/shop.ts';
import { buildCommandLine, openTerminal, type Terminal } from './terminal.ts';

/* The screen of a person, at 80 and at 200 columns. */

let server: RunningServer;
let shop: Shop;
let terminal: Terminal;
beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  shop = await createShop(server);
  terminal = await openTerminal();
  const token = shop.organization.tokens.ADMIN;
  await terminal.run(['login', server.baseUrl, '--token-stdin', '--name', 'shop'], { stdin: token });
  await terminal.run(['link', '--environment', 'shop/production']);
});
afterAll(async () => {
  await terminal.close();
  await server.close();
});

// oxlint-disable-next-line no-control-regex -- these sequences begin with that character
const escapes = /\u001B\[[\d;?]*[A-Za-z]/g;
const linesOf = (screen: string): string[] => screen.replaceAll(escapes, '').split(/\r?\n/);
const widest = (screen: string): number => Math.max(...linesOf(screen).map((line) => Array.from(line).length));

let memory = 512;
/** Changes the configuration of a service, so that its next deployment replaces its instances. */
async function change(service: 'api' | 'web'): Promise<void> {
  memory += 1;
  await shop.api.call('editApplication', { params: { applicationId: shop.services[service] }, body: { memory } });
}

test('a deployment changes its lines in place; nothing is wider than the terminal', async () => {
  for (const columns of [80, 200]) {
    await change('api');
    // Without a pause, all of it may be over before the lines are drawn once.
    const script = server.fake.script;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    server.fake.script = { ...script, before: ({ method }) => (method === 'awaitReady' ? held : undefined) };
    const deploying = terminal.inTerminal(['deploy', '--all'], { columns });
    await vi.waitFor(() => expect(deploying.screen()).toContain('starting'), 15_000);
    release();
    const { code, screen } = await deploying.ended;
    server.fake.script = script;
    expect(code).toBe(0);
    expect(screen).toContain('\u001B[6A');
    expect(widest(screen)).toBeLessThanOrEqual(columns);
    expect(linesOf(screen).slice(-12).join('\n')).toMatch(/api .*✓ ready [\d.]+ s {2}✓ switched/);
  }
});

test('status and explain fit into 80 columns, and cut nothing at 200', async () => {
  neverListens(server, shop.services.api);
  await change('api');
  const failed = await terminal.inTerminal(['deploy', 'api'], { columns: 80 }).ended;
  expect(failed.code).toBe(5);
  expect(widest(failed.screen)).toBeLessThanOrEqual(80);
  server.fake.script = {};
  for (const columns of [80, 200]) {
    for (const words of [
      ['status'],
      ['ps'],
      ['explain', 'api'],
      ['history', 'api'],
      ['variables', 'list', '--service', 'api', '--all'],
    ]) {
      const { screen } = await terminal.inTerminal(words, { columns }).ended;
      expect(widest(screen)).toBeLessThanOrEqual(columns);
      expect(columns === 200 && words[0] !== 'variables' && screen.includes('…')).toBe(false);
    }
  }
  const plain = await terminal.inTerminal(['status'], { columns: 80, environment: { NO_COLOR: '1', LANG: 'C' } }).ended;
  expect(plain.screen).not.toContain('\u001B[');
  expect(plain.screen).toMatch(/api +!! deployment error/);
});

test('Ctrl-C asks once; c cancels the deployment, a second Ctrl-C only stops watching', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  server.fake.script = { before: ({ method }) => (method === 'awaitReady' ? held : undefined) };
  for (const [key, code, said] of [
    ['\u0003', 130, 'Stopped watching'],
    ['c', 5, 'Canceling'],
  ] as const) {
    await change('web');
    const deploying = terminal.inTerminal(['deploy', 'web'], { columns: 80 });
    await vi.waitFor(() => expect(deploying.screen()).toContain('starting'), 15_000);
    deploying.type('\u0003');
    await vi.waitFor(() => expect(deploying.screen()).toContain('Press Ctrl-C again'), 15_000);
    deploying.type(key);
    await vi.waitFor(() => expect(deploying.screen()).toContain(said), 15_000);
    expect(await deploying.ended).toMatchObject({ code });
    await shop.api
      .call('cancelEnvironmentDeployment', { params: { environmentId: shop.production }, body: {} })
      .catch(() => undefined);
  }
  release();
  server.fake.script = {};
});

test('a question is asked on a terminal; no is exit code 3', async () => {
  const stopping = terminal.inTerminal(['stop', 'web'], { columns: 80 });
  await vi.waitFor(() => expect(stopping.screen()).toContain('[y/N]'), 15_000);
  stopping.type('n\r');
  expect(await stopping.ended).toMatchObject({ code: 3 });
});
