import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '@davit/db';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const cli = fileURLToPath(new URL('cli.ts', import.meta.url));
let folder: string;
let database: TestDatabase;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-cli-'));
  database = await createTestDatabase({ isMigrated: false });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

interface Running {
  readonly child: ChildProcess;
  /** Returns everything printed so far. */
  readonly text: () => string;
  readonly exit: Promise<number | null>;
  /** Resolves with the first match; fails if the process exits before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
}

// With the role api, neither the container engine nor the gateway is used.
function davit(args: readonly string[], environment: Readonly<Record<string, string | undefined>> = {}): Running {
  const { PATH } = process.env;
  const child = spawn(process.execPath, [cli, ...args], {
    env: {
      PATH,
      DAVIT_HOME: folder,
      DATABASE_URL: database.connectionString,
      DAVIT_PORT: '0',
      DAVIT_ROLE: 'api',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let text = '';
  const waiting = new Set<() => void>();
  const take = (chunk: Buffer): void => {
    text += chunk.toString();
    for (const look of waiting) look();
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
  const prints = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(text);
        if (match !== null) resolve(match);
      };
      waiting.add(look);
      look();
      void exit.then(() => reject(new Error(`ended without printing ${String(pattern)}:\n${text}`)));
    });
  return { child, text: () => text, exit, prints };
}

/** Returns the process id of the embedded PostgreSQL that runs for this state folder. */
async function postmaster(home: string): Promise<number> {
  const running = await startEmbedded({ stateFolder: home });
  expect(running.adopted).toBe(true);
  return Number.parseInt(await readFile(path.join(running.folder, 'cluster/data/postmaster.pid'), 'utf8'), 10);
}

const address = /answers at (http:\S+)/;

test('the first start shows the administrator’s token once, and a signal ends the server in good order', async () => {
  const first = davit(['serve']);
  const [, url] = await first.prints(address);
  const [, token] = await first.prints(/shown only now: (dvt_\S{40})/);
  const headers = { authorization: `Token ${token}` };
  expect((await fetch(`${url}/organization`, { headers })).status).toBe(200);
  const file = path.join(folder, 'admin-token');
  expect((await readFile(file, 'utf8')).trim()).toBe(token);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  first.child.kill('SIGTERM');
  expect(await first.exit).toBe(0);

  const second = davit(['serve']);
  const [, again] = await second.prints(address);
  expect(second.text()).not.toContain('dvt_');
  expect((await fetch(`${again}/organization`, { headers })).status).toBe(200);
});

test('a second server of one state folder is refused, and a killed one leaves no lock behind', async () => {
  const first = davit(['serve']);
  await first.prints(address);
  const second = davit(['serve']);
  expect(await second.exit).toBe(1);
  expect(second.text()).toContain(`another davit serve uses this state folder (${folder})`);
  first.child.kill('SIGKILL');
  await first.exit;
  await davit(['serve']).prints(address);
});

test('an address that is taken or not of this machine is refused with what to do', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const bound = other.address();
  const port = typeof bound === 'object' ? bound?.port : undefined;
  const taken = davit(['serve'], { DAVIT_PORT: String(port) });
  expect(await taken.exit).toBe(1);
  expect(taken.text()).toContain(
    `davit: davit cannot listen on 127.0.0.1:${port}: another program listens there. Stop it, or set`,
  );
  expect(taken.text()).not.toContain('    at ');
  other.close();
  const elsewhere = davit(['serve'], { DAVIT_HOST: '192.0.2.1' });
  expect(await elsewhere.exit).toBe(1);
  expect(elsewhere.text()).toContain('DAVIT_HOST');
});

test('the embedded database is served as long as davit is, also after one that was killed, and ends with it', async () => {
  // If davit runs as root, PostgreSQL runs as another user, who needs access to the folder.
  await chmod(folder, 0o711);
  const home = path.join(folder, 'embedded');
  const own = { DATABASE_URL: undefined, DAVIT_HOME: home };
  const killed = davit(['serve'], own);
  await killed.prints(address);
  killed.child.kill('SIGKILL');
  await killed.exit;

  const second = davit(['serve'], own);
  const [, url] = await second.prints(address);
  const first = await postmaster(home);
  process.kill(first, 'SIGKILL');
  await second.prints(/the embedded database runs again/);
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 20_000);
  const revived = await postmaster(home);
  expect(revived).not.toBe(first);
  second.child.kill('SIGTERM');
  expect(await second.exit).toBe(0);
  // The process entry remains until the machine's init process has reaped it.
  await vi.waitFor(() => expect(() => process.kill(revived, 0)).toThrow('ESRCH'), 10_000);
});

test('a server that is told to stop sends requests elsewhere while it still answers them', async () => {
  const server = davit(['serve'], { DAVIT_STOP_DELAY_SECONDS: '4', DAVIT_BOOTSTRAP_TOKEN: 'administrator-token' });
  const [, url] = await server.prints(address);
  const ask = (page: string): Promise<Response> =>
    fetch(`${url}${page}`, { headers: { authorization: 'Token administrator-token' } });
  expect((await ask('/organization')).headers.get('connection')).toBe('keep-alive');
  server.child.kill('SIGTERM');
  await vi.waitFor(async () => expect(await (await ask('/readyz')).json()).toEqual({ status: 'stopping' }), 3_900);
  const answer = await ask('/organization');
  expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
  expect((await ask('/healthz')).status).toBe(200);
  expect(await server.exit).toBe(0);
  await expect(ask('/healthz')).rejects.toThrow('fetch failed');
});

test('a wrong configuration is told completely, with exit code 1', async () => {
  const run = davit(['serve'], { DAVIT_PORT: 'x', DAVIT_RATE_LIMIT: '-1' });
  expect(await run.exit).toBe(1);
  expect(run.text()).toMatch(/DAVIT_PORT must be[\s\S]*DAVIT_RATE_LIMIT must be/);
});

test('a start with another secret key than the database’s is refused', async () => {
  const first = davit(['serve']);
  await first.prints(address);
  first.child.kill('SIGTERM');
  await first.exit;
  const other = davit(['serve'], { DAVIT_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') });
  expect(await other.exit).toBe(1);
  expect(other.text()).toContain('The secret key does not open this database');
});

test('administrators’ tokens are made, listed and taken away on the command line', async () => {
  const created = davit(['token', 'create', 'ops', '--expires', '2099-01-01T00:00:00Z']);
  const [token] = await created.prints(/dvt_\S{40}/);
  expect(await created.exit).toBe(0);
  const listed = davit(['token', 'list']);
  expect(await listed.exit).toBe(0);
  expect(listed.text()).toMatch(/ops {2}created .* expires 2099-01-01/);
  expect(listed.text()).not.toContain(token);
  expect(await davit(['token', 'revoke', 'ops']).exit).toBe(0);
  expect(await davit(['token', 'revoke', 'ops']).exit).toBe(1);
});

test('each start prints the link of the first account until there is one, and accounts are made and reset on the command line', async () => {
  const link = /(http:\S+\/console\/first-run#[\w-]{43})/;
  const first = davit(['serve']);
  const [, link1] = await first.prints(link);
  await first.prints(address);
  first.child.kill('SIGTERM');
  expect(await first.exit).toBe(0);
  const second = davit(['serve']);
  const [, link2] = await second.prints(link);
  expect(link2).not.toBe(link1);
  await second.prints(address);
  second.child.kill('SIGTERM');
  expect(await second.exit).toBe(0);
  expect(await davit(['account', 'reset', 'ada@example.org']).exit).toBe(1);
  const made = davit(['account', 'create', 'ada@example.org']);
  await made.prints(/http:\S+\/console\/password#[\w-]{43}/);
  expect(await made.exit).toBe(0);
  expect(await davit(['account', 'create', 'ada@example.org']).exit).toBe(1);
  const reset = davit(['account', 'reset', 'Ada@example.org']);
  await reset.prints(/http:\S+\/console\/password#[\w-]{43}/);
  const list = davit(['account', 'list']);
  await list.prints(/ada@example.org/);
  const server = davit(['serve']);
  await server.prints(address);
  expect(server.text()).not.toMatch(link);
  expect(await davit(['account', 'remove-second-factor', 'ada@example.org']).exit).toBe(1);
  for (const wrong of [['account'], ['account', 'reset'], ['account', 'create', 'nobody']]) {
    expect(await davit(wrong).exit).toBe(2);
  }
});

test('the operator restricts an organization and lifts it again, while the server runs', async () => {
  const server = davit(['serve']);
  const [, url] = await server.prints(address);
  const token = (await readFile(path.join(folder, 'admin-token'), 'utf8')).trim();
  const headers = { authorization: `Token ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'Shipyard', plan: 'FREE' });
  const made = await fetch(`${url}/organization`, { method: 'POST', headers, body });
  const { id }: { id: string } = JSON.parse(await made.text());
  const restriction = async (): Promise<unknown> => {
    const read: Record<string, unknown> = JSON.parse(await (await fetch(`${url}/organization/${id}`, { headers })).text());
    return read['billing_deployment_restriction'] ?? null;
  };
  expect(await davit(['organization', 'restrict', 'shipyard']).exit).toBe(0);
  expect(await restriction()).toBe('NO_CREDIT_CARD');
  expect(await davit(['organization', 'restrict', id, 'UNPAID']).exit).toBe(0);
  expect(await restriction()).toBe('UNPAID');
  const listed = davit(['organization', 'list']);
  expect(await listed.exit).toBe(0);
  expect(listed.text()).toContain(`${id}  Shipyard  UNPAID`);
  const events = await (await fetch(`${url}/organization/${id}/events`, { headers })).text();
  expect(events).toContain('operator of the instance');
  expect(await davit(['organization', 'allow', 'Shipyard']).exit).toBe(0);
  expect(await restriction()).toBeNull();
  expect(await davit(['organization', 'allow', 'nobody']).exit).toBe(1);
});

test('the version is printed without a database, by all its names', async () => {
  for (const word of ['--version', '-v', 'version']) {
    const version = davit([word]);
    expect(await version.exit).toBe(0);
    expect(version.text().trim()).toMatch(/^\d+\.\d+\.\d+/);
  }
});

test('help is no error, and what is no command is', async () => {
  const help = davit(['--help']);
  expect(await help.exit).toBe(0);
  expect(help.text()).toContain('davit serve');
  for (const args of [
    [],
    ['dance'],
    ['token', 'create'],
    ['serve', '--fast'],
    ['token', 'create', 'x', '--expires', 'soon'],
    ['organization', 'restrict'],
    ['organization', 'restrict', 'a', 'b c'],
  ]) {
    expect({ args, code: await davit(args).exit }).toEqual({ args, code: 2 });
  }
});
