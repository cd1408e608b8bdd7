import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { roleDescriptions } from '@davit/contract';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { TestBrowser } from '../../packages/server/src/resources/account/testing/browser.ts';
import { createShop, neverListens, type Shop } from '../console/shop.ts';
import { buildCommandLine, openTerminal, type Ended, type Terminal } from './terminal.ts';

/* Stories at a terminal, before a real server whose cluster is in memory. */

let server: RunningServer;
let shop: Shop;
let terminal: Terminal;
beforeAll(async () => {
  buildCommandLine();
  server = await startRunningServer();
  shop = await createShop(server);
  terminal = await openTerminal();
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

test('a person signs in with a code, looks around, and signs out, after which the token is worth nothing', async () => {
  const nobody = await davit('status');
  expect(nobody).toMatchObject({ code: 4, out: '' });
  expect(nobody.err).toContain('davit login');
  const browser = await member();
  const signIn = async (): Promise<Ended> => {
    const login = terminal.start(['login', server.baseUrl, '--name', 'here', '--no-browser']);
    const code = await vi.waitFor(
      () => /#([B-Z]{4}-[B-Z]{4})/.exec(login.err())?.[1] ?? Promise.reject(new Error(login.err())),
      10_000,
    );
    const body = { user_code: code, organization_id: shop.organization.id };
    expect(await browser.send('POST /deviceSignIn/confirm', body)).toMatchObject({ status: 204 });
    return login.ended;
  };
  const tokenOf = async (): Promise<string> => JSON.parse(await readFile(terminal.configFile, 'utf8')).contexts.here.token;
  expect(await signIn()).toMatchObject({ code: 0, out: '', err: expect.not.stringContaining('former token') });
  const former = await tokenOf();
  const signedIn = await signIn();
  expect(signedIn).toMatchObject({ code: 0, out: '', err: expect.stringContaining('former token of the context is revoked') });
  await expect(server.client(former).call('listOrganization')).rejects.toMatchObject({ status: 401 });
  expect(signedIn.err).toContain('organization Acme (context here)');
  expect((await stat(terminal.configFile)).mode & 0o777).toBe(0o600);
  const token = await tokenOf();
  const who = await done('whoami');
  expect(who.out).toContain('Acme');
  const all = [signedIn, who, await done('context', 'list'), await done('context', 'list', '--json')];
  expect(all.map(({ out, err }) => out + err).join('')).not.toContain(token);
  expect((await done('logout')).err).toContain('revoked');
  await expect(server.client(token).call('listOrganization')).rejects.toMatchObject({ status: 401 });
  expect(await davit('status')).toMatchObject({ code: 4 });
});

async function member(): Promise<TestBrowser> {
  const params = { organizationId: shop.organization.id };
  const body = { email: `${randomUUID()}@example.org`, role_id: roleDescriptions.DEVOPS.id };
  const { invitation_link: link } = await server.client().call('postInviteMember', { params, body });
  const browser = new TestBrowser(server);
  await browser.send('POST /invitation/accept', { token: link.split('#')[1], password: 'correct horse battery', name: 'Mira' });
  return browser;
}

test('deploys, sees the failure explained with exit code 5, and goes back', async () => {
  const { ADMIN } = shop.organization.tokens;
  expect(await terminal.run(['login', server.baseUrl, '--token-stdin'], { stdin: ADMIN })).toMatchObject({ code: 0 });
  const unclear = await davit('status');
  expect(unclear).toMatchObject({ code: 64 });
  expect(unclear.err).toContain('Shop/production, Shop/staging');
  await done('link', '--environment', 'shop/production', '--service', 'api');
  const first = await done('deploy', '--all');
  expect(first.err).toMatch(/^ {2}Acme \/ Shop \/ production\n/);
  expect(first.err).toMatch(/\d\d:\d\d:\d\d api {2}✓ built/);
  expect(first.out).toMatch(/^http:\/\//);
  const status = await done('status');
  expect(status.out).toMatch(/^Acme \/ Shop \/ production/);
  expect(status.out).toMatch(/Backend\n {4}api +✓ running/);
  neverListens(server, shop.services.api);
  await shop.api.call('editApplication', { params: { applicationId: shop.services.api }, body: { memory: 600 } });
  expect((await done('status')).err).toContain('davit diff api');
  expect((await done('diff')).out).toBe('memory  512 → 600\n');
  const failed = await davit('deploy');
  expect(failed).toMatchObject({ code: 5, out: '' });
  for (const text of [
    'PORT_NOT_LISTENING',
    'Seen     ',
    'listens on 127.0.0.1:8080',
    'Changed  since deployment 1, now',
    'memory  512 → 600',
    'Do       ',
    'davit logs api · davit rollback api',
  ]) {
    expect(failed.err).toContain(text);
  }
  expect((await done('explain', 'api')).err).toContain('PORT_NOT_LISTENING');
  server.fake.script = {};
  const back = await done('rollback', 'api');
  expect(back.err).toContain('Back to deployment 1');
  const history = await done('history', 'api');
  expect(history.out.split('\n')[1]).toMatch(/^3 +deployed/);
  const events = await done('deploy', 'web', '--json-lines');
  const last = JSON.parse(events.out.trim().split('\n').at(-1) ?? '');
  expect(last).toMatchObject({ event: 'END', data: { code: 'DONE' } });
  expect((await done('deploy', 'web', '--quiet')).out).toMatch(/^[\da-f-]{36}\n$/);
});

test('restarts, scales, stops after consent, and shows what runs', async () => {
  await done('restart', 'web');
  await done('scale', 'web', '3');
  expect((await done('ps')).out).toMatch(/web +application +running +3\/3/);
  expect(await davit('stop', 'web')).toMatchObject({ code: 64 });
  await done('stop', 'web', '--yes');
  const statuses = JSON.parse((await done('ps', '--json')).out);
  expect(statuses.applications.find(({ id }: { id: string }) => id === shop.services.web)).toMatchObject({ state: 'STOPPED' });
  expect(await davit('restart', 'migrate')).toMatchObject({ code: 64 });
});

test('sets variables and secrets, compares and imports files, and shows no secret', async () => {
  await done('variables', 'set', 'HOST=0.0.0.0', 'NAME=a b', '--service', 'api');
  await done('variables', 'set', 'SHARED=1', '--scope', 'project');
  const secret = randomUUID();
  const stored = await terminal.run(['secrets', 'set', 'KEY', '--service', 'api'], { stdin: `${secret}\n` });
  expect(stored).toMatchObject({ code: 0 });
  const listed = await done('variables', 'list', '--service', 'api');
  expect(listed.out).toMatch(/HOST +0\.0\.0\.0 +application/);
  expect(listed.out).toMatch(/SHARED +1 +project/);
  const pulled = await done('variables', 'pull', '--service', 'api');
  expect(pulled.out).toContain('HOST=0.0.0.0\n# KEY is a secret\nNAME="a b"\nSHARED=1\n');
  const file = pulled.out.replace('0.0.0.0', '127.0.0.1');
  const diff = await terminal.run(['variables', 'diff', '-', '--service', 'api'], { stdin: file });
  expect(diff.out).toContain('- HOST=0.0.0.0\n+ HOST=127.0.0.1\n');
  expect(await terminal.run(['variables', 'import', '-', '--service', 'api'], { stdin: file })).toMatchObject({ code: 0 });
  await done('variables', 'unset', 'HOST', '--service', 'api');
  const after = await done('variables', 'list', '--service', 'api', '--json');
  expect(after.out).not.toContain('"HOST"');
  expect([listed, pulled, diff, after].map(({ out, err }) => out + err).join('')).not.toContain(secret);
});

test('calls any operation, with the ids that the link of the folder knows', async () => {
  expect(JSON.parse((await done('api', 'listProject')).out)).toMatchObject({ results: [{ name: 'Shop' }, { name: 'Billing' }] });
  expect(JSON.parse((await done('api', 'getApplication')).out)).toMatchObject({ name: 'api' });
  const made = await done('api', 'createProject', '--body', '{"name": "Warehouse"}');
  expect(JSON.parse(made.out)).toMatchObject({ name: 'Warehouse' });
  const taken = await davit('api', 'createProject', '--body', '{"name": "Warehouse"}');
  expect(taken).toMatchObject({ code: 1, out: '' });
  expect(taken.err).toContain('NAME_TAKEN');
  const wrong = await davit('api', 'listProjet');
  expect(wrong).toMatchObject({ code: 64 });
  expect(wrong.err).toContain('listProject');
  expect((await done('api', '--list', 'rebootApplication')).out).toContain('applicationId=');
  const { out: id } = await done('deploy', 'web', '--detach', '--quiet');
  const events = await done('api', 'streamDeployment', `deploymentRequestId=${id.trim()}`);
  const last = JSON.parse(events.out.trim().split('\n').at(-1) ?? '');
  expect(last).toMatchObject({ event: 'END', data: { code: 'DONE' } });
});

test('works with several servers, and forgets the link of a folder', async () => {
  const contextNow = async (): Promise<unknown> => JSON.parse((await done('whoami', '--json')).out).context;
  const { host } = new URL(server.baseUrl);
  const stdin = shop.organization.tokens.READ;
  expect(await terminal.run(['login', server.baseUrl, '--token-stdin', '--name', 'reader'], { stdin })).toMatchObject({
    code: 0,
  });
  // The link of the folder counts more than the current context.
  expect(await contextNow()).toBe(host);
  expect((await done('link', '--remove')).err).toContain('linked to nothing');
  expect(await contextNow()).toBe('reader');
  await done('context', 'use', host);
  expect(await contextNow()).toBe(host);
  expect(await davit('context', 'use', 'nowhere')).toMatchObject({ code: 64 });
});
