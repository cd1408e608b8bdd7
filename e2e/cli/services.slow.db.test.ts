import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createShop, type Shop } from '../console/shop.ts';
import { buildCommandLine, openTerminal, type Ended, type Terminal } from './terminal.ts';

/* Databases, domains, tokens and measurements at a terminal. */

let server: RunningServer;
let shop: Shop;
let terminal: Terminal;
beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  shop = await createShop(server);
  terminal = await openTerminal();
  await terminal.run(['login', server.baseUrl, '--token-stdin'], { stdin: shop.organization.tokens.ADMIN });
  await terminal.run(['link', '--environment', 'shop/production', '--service', 'web']);
  await terminal.run(['deploy', '--all']);
});
afterAll(async () => {
  await terminal.close();
  await server.close();
});

const davit = (...words: string[]): Promise<Ended> => terminal.run(words);
const done = async (...words: string[]): Promise<Ended> => {
  const ended = await davit(...words);
  expect({ ...ended, words }).toMatchObject({ code: 0 });
  return ended;
};

/** Ends the tool that runs this script for a backup or restore, as if it had done its work. */
async function endTool(script: string, code = 0): Promise<void> {
  const { fake } = server;
  const instance = await vi.waitFor(() => {
    const found = fake.instances.find(
      ({ id, state }) => state === 'RUNNING' && fake.workloads.get(id)?.entrypoint.join(' ').includes(script) === true,
    );
    if (found === undefined) throw new Error(`nothing runs ${script}`);
    return found;
  }, 20_000);
  if (script === 'dump.sh' && code === 0) {
    fake.write(instance.id, '/davit/out/backup/facts', 'version 17.2\nbytes 4096\n');
    fake.write(instance.id, '/davit/out/backup', 'all of the data');
  } else if (code === 0) {
    await vi.waitFor(() => {
      const puts = fake.calls.filter(({ method, service }) => method === 'putInto' && service === instance.service);
      if (puts.length < 2) throw new Error('the files of the backup are missing');
    }, 20_000);
  }
  fake.kill(instance.id, code);
}

test('a database is backed up and proven, and a failed backup says why; its address has no password unless asked for', async () => {
  const making = terminal.start(['database', 'backup', 'orders', '--name', 'before the sale']);
  await endTool('dump.sh');
  await endTool('prove.sh');
  const made = await making.ended;
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^[\da-f-]{36}\n$/) });
  expect(made.err).toContain('Proven by a test restore');
  const failing = terminal.start(['database', 'backup', 'orders']);
  await endTool('dump.sh', 2);
  const failed = await failing.ended;
  expect(failed).toMatchObject({ code: 5, out: '' });
  expect(failed.err).toContain('BACKUP_FAILED');
  const listed = await done('database', 'backup', 'orders', '--list');
  expect(listed.out).toMatch(/failed .*\n.*good .*before the sale/);
  expect(await davit('database', 'restore', 'orders')).toMatchObject({ code: 64 });
  const address = await done('database', 'url', 'orders');
  expect(address.out).toMatch(/^postgresql:\/\/[^:@]+@[^:]+:5432\n$/);
  expect((await done('database', 'url', 'orders', '--show')).out).toMatch(/^postgresql:\/\/[^:@]+:[^@]+@/);
  expect(await davit('database', 'url', 'web')).toMatchObject({ code: 64 });
  const restoring = terminal.start(['database', 'restore', 'orders', '--yes']);
  for (const script of ['dump.sh', 'prove.sh', 'restore.sh']) await endTool(script);
  const restored = await restoring.ended;
  expect(restored).toMatchObject({ code: 0, out: '' });
  expect(restored.err).toContain('Restored');
});

test('domains are added, listed with their state in DNS, and removed', async () => {
  const added = await done('domains', 'add', 'shop.example.org', '--no-certificate');
  expect(added.err).toMatch(/^ {2}Acme \/ Shop \/ production\n.*from the next deployment on/);
  expect((await done('domains', 'list')).out).toMatch(/shop\.example\.org +no certificate/);
  const wrong = await davit('domains', 'remove', 'shop.example.com');
  expect(wrong).toMatchObject({ code: 64 });
  expect(wrong.err).toContain('Did you mean shop.example.org?');
  await done('domains', 'remove', 'shop.example.org');
  expect((await done('domains', 'list', '--quiet')).out).toBe('');
});

test('a token for a pipeline is made, works without a sign-in, and is revoked', async () => {
  const made = await done('token', 'create', 'pipeline', '--scope', 'DEPLOY', '--expires', '1d');
  expect(made.out).toMatch(/^dvt_\S+\n$/);
  const environment = { DAVIT_SERVER: server.baseUrl, DAVIT_TOKEN: made.out.trim() };
  const elsewhere = { environment, folder: '/' };
  const deployed = await terminal.run(['deploy', 'web', '--environment', 'shop/production'], elsewhere);
  expect(deployed).toMatchObject({ code: 0 });
  const refused = await terminal.run(['variables', 'set', 'A=1', '--service', 'web', '-e', 'shop/production'], elsewhere);
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.err).toContain('FORBIDDEN');
  expect((await done('token', 'list')).out).toMatch(/pipeline +Deploy/);
  await done('token', 'revoke', 'pipeline');
  // A script takes the value as it is.
  const quiet = await done('token', 'create', 'script', '--quiet');
  expect(quiet).toMatchObject({ out: expect.stringMatching(/^dvt_\S+\n$/), err: '' });
  expect(await terminal.run(['whoami'], elsewhere)).toMatchObject({ code: 4 });
  // A token without its server is not sent to another one.
  const half = await terminal.run(['whoami'], { environment: { DAVIT_TOKEN: made.out.trim() } });
  expect(half).toMatchObject({ code: 0 });
  expect(half.err).toContain('DAVIT_TOKEN has no effect without DAVIT_SERVER');
});

test('addresses and measurements are shown; a wrong name gets the nearest one', async () => {
  expect((await done('open', '--print')).out).toMatch(/^http:\/\/web-/);
  expect((await davit('open', 'worker')).err).toContain('worker has no address');
  const used = await done('metrics', 'web');
  expect(`${used.out}${used.err}`).toMatch(/INSTANCES|did not run/);
  const wrong = await davit('logs', 'wbe');
  expect(wrong).toMatchObject({ code: 64 });
  expect(wrong.err).toContain('Did you mean web?');
  const nowhere = await davit('status', '--environment', 'shop/prod');
  expect(nowhere).toMatchObject({ code: 64 });
  expect(nowhere.err).toContain('Did you mean production?');
});
