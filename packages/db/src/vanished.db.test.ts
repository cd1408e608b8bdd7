import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { acquireSessionLock, openDatabase, startEmbedded, statement, type EmbeddedDatabase } from './index.ts';

/*
 * Tests that need a separate server, because they use connections over TCP and settings of all sessions. On Linux,
 * every address of 127.0.0.0/8 is this machine. The address is random, so that two runs do not use the same port of the
 * same address.
 */
const address = `127.${[1, 2, 3].map(() => 1 + Math.floor(Math.random() * 250)).join('.')}`;

let folder: string;
let server: EmbeddedDatabase;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-tcp-'));
  await chmod(folder, 0o711);
  const access = path.join(folder, 'pg_hba.conf');
  await writeFile(access, 'local all all trust\nhost all all 127.0.0.0/8 trust\n', { mode: 0o644 });
  server = await startEmbedded({ stateFolder: folder, settings: { fsync: 'off', listen_addresses: address, hba_file: access } });
});
afterAll(async () => {
  await server.stop();
  await rm(server.folder, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

const shown = statement<{ name: string; setting: string }>(
  'test_session_settings',
  `select name, setting from pg_settings
    where name ~ '^tcp_|^idle_in_transaction' or name in ('TimeZone', 'work_mem') order by name collate "C"`,
);

async function settings(connectionString: string): Promise<Record<string, string>> {
  const database = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 1 });
  try {
    return Object.fromEntries((await database.many(shown)).map(({ name, setting }) => [name, setting]));
  } finally {
    await database.close();
  }
}

test.runIf(process.platform === 'linux')('the server asks soon after a client that says nothing', async () => {
  expect(await settings(`postgresql://davit@${address}:5432/davit`)).toMatchObject({
    TimeZone: 'UTC',
    idle_in_transaction_session_timeout: '600000',
    tcp_keepalives_count: '3',
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_user_timeout: '20000',
  });
});

test('options of an address stay in force beside those of Davit, also on a Unix socket', async () => {
  const found = await settings(`${server.connectionString}&options=-c%20work_mem%3D7MB`);
  expect(found).toMatchObject({ TimeZone: 'UTC', work_mem: '7168', idle_in_transaction_session_timeout: '600000' });
});

const freeze = statement('test_freeze', 'alter system set default_transaction_read_only = on');
const thaw = statement('test_thaw', 'alter system reset default_transaction_read_only');
const reload = statement('test_reload', 'select pg_reload_conf()');
afterEach(() => vi.useRealTimers());

test('a lock is lost once its server takes no changes: another one may lead elsewhere by then', async () => {
  const { connectionString } = server;
  const operator = openDatabase({ connectionString, applicationName: 'test', maximumConnections: 1, readsOnly: true });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const lock = await acquireSessionLock(connectionString, 'runner 9');
  await operator.run(freeze);
  await operator.run(reload);
  try {
    expect(lock?.held).toBe(true);
    // Each connection checks once. The session receives its new settings slightly later.
    await vi.waitFor(() => {
      vi.advanceTimersByTime(10_000);
      expect(lock?.held).toBe(false);
    });
    await expect(acquireSessionLock(connectionString, 'runner 9')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  } finally {
    await operator.run(thaw);
    await operator.run(reload);
    await operator.close();
  }
});
