import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DriverError } from '@davit/drivers';
import { startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import type { TestOrganization } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deployLostPushes } from '../background/lost-pushes.ts';
import { gitRepositories } from './repositories.ts';
import { addPush, oldPushes } from './store.ts';
import { tidyRepositories } from './tidy.ts';

/* Stories with the real git client. */

let server: RunningServer;
let owner: TestOrganization;
let folder: string;
let applicationId: string;
let environmentId: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-git-remote-'));
  server = await startRunningServer({
    DAVIT_GIT_PUSH_MIB: '1',
    DAVIT_GIT_PUSH_OBJECTS: '150',
    DAVIT_GIT_REFERENCES: '5',
    DAVIT_GIT_REPOSITORY_MIB: '4',
  });
  owner = await server.organization('shop');
  const client = server.client(owner.tokens.ADMIN);
  const project = await client.call('createProject', { params: { organizationId: owner.id }, body: { name: 'Shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  environmentId = environment.id;
  applicationId = await makeApplication('web');
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

async function makeApplication(name: string, url = 'davit:'): Promise<string> {
  const body = { name, dockerfile_path: 'Dockerfile', git_repository: { url, branch: 'main' } };
  const client = server.client(owner.tokens.ADMIN);
  return (await client.call('createApplication', { params: { environmentId }, body })).id;
}

const remote = (name = 'web', token = owner.tokens.WRITE): string =>
  `${server.baseUrl.replace('//', `//any:${token}@`)}/git/shop/LIVE/${name}.git`;

interface Ended {
  readonly code: number;
  readonly text: string;
}

function git(at: string, ...args: readonly string[]): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Ada',
    GIT_AUTHOR_EMAIL: 'ada@example.org',
    GIT_COMMITTER_NAME: 'Ada',
    GIT_COMMITTER_EMAIL: 'ada@example.org',
  };
  return new Promise((resolve) => {
    execFile('git', args, { cwd: at, env, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: `${stdout}${stderr}` });
    });
  });
}

/** Makes a folder with one commit. */
async function repository(
  name: string,
  files: Readonly<Record<string, string>> = { Dockerfile: 'FROM scratch\n' },
): Promise<string> {
  const at = path.join(folder, name);
  await mkdir(at);
  await git(at, 'init', '--quiet', '--initial-branch=main');
  await commit(at, files);
  return at;
}

async function commit(at: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(at, file), text);
  await git(at, 'add', '--all');
  await git(at, 'commit', '--quiet', '--message', 'change');
  return (await git(at, 'rev-parse', 'HEAD')).text.trim();
}

test('a push deploys, and its log and its result come back', async () => {
  const at = await repository('deploys');
  const first = (await git(at, 'rev-parse', 'HEAD')).text.trim();
  const pushed = await git(at, 'push', remote(), 'main');
  expect(pushed).toMatchObject({ code: 0 });
  expect(pushed.text).toContain(`remote: Deploying web at commit ${first.slice(0, 12)}.`);
  expect(pushed.text).toContain('remote: web is deployed.');
  const client = server.client(owner.tokens.READ);
  const params = { applicationId };
  expect((await client.call('getApplicationStatus', { params })).state).toBe('DEPLOYED');
  // The push is in the audit log as a deployment by the token.
  const events = await server.client(owner.tokens.ADMIN).call('getOrganizationEvents', { params: { organizationId: owner.id } });
  expect(events.events?.some(({ event_type: type, target_id: id }) => type === 'TRIGGER_DEPLOY' && id === applicationId)).toBe(
    true,
  );

  // Another branch is stored and not deployed; a clone reads both, with READ alone.
  const other = await git(at, 'push', remote(), 'HEAD:feature/next');
  expect(other.text).toContain('remote: Stored. Only the branch main is deployed');
  const cloned = await git(folder, 'clone', '--quiet', remote('web', owner.tokens.READ), 'clone');
  expect(cloned).toMatchObject({ code: 0 });
  expect((await git(path.join(folder, 'clone'), 'rev-parse', 'HEAD', 'origin/feature/next')).text).toBe(`${first}\n${first}\n`);
});

test('a failed deployment comes back with its cause, and the commits are stored', async () => {
  const at = await repository('fails');
  await makeApplication('broken');
  server.fake.script = {
    before: ({ method }) => {
      if (method === 'build') throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'npm ended with code 1' });
    },
  };
  const pushed = await git(at, 'push', remote('broken'), 'main');
  server.fake.script = {};
  expect(pushed.code).toBe(0);
  expect(pushed.text).toContain('remote: Failed:');
  expect(pushed.text).toContain('remote: What to do:');
  expect(pushed.text).toContain('remote: broken was not deployed');
});

test('a token sees and does what it may, as in the API', async () => {
  const at = await repository('rights');
  const stranger = await server.organization('stranger');
  const refused = async (address: string): Promise<string> => {
    const { code, text } = await git(at, 'push', address, 'main:other');
    expect(code).not.toBe(0);
    return text;
  };
  expect(await refused(remote('web', 'dvt_wrong'))).toMatch(/Authentication failed|not valid|unknown/i);
  expect(await refused(remote('web', stranger.tokens.ADMIN))).toContain('There is no such application');
  expect(await refused(remote('nowhere'))).toContain('There is no such application');
  expect(await refused(remote('web', owner.tokens.READ))).toContain('WRITE');
  expect(await refused(remote('web', owner.tokens.DEPLOY))).toContain('WRITE');
  await makeApplication('elsewhere', 'https://git.example.org/shop/web.git');
  expect(await refused(remote('elsewhere'))).toContain('is deployed from https://git.example.org/shop/web.git');
  const { text } = await git(folder, 'ls-remote', remote('web', stranger.tokens.READ));
  expect(text).toContain('There is no such application');
  // Without any token, git is asked for one.
  const response = await fetch(`${server.baseUrl}/git/shop/live/web.git/info/refs?service=git-upload-pack`);
  expect({ status: response.status, asks: response.headers.get('www-authenticate') }).toEqual({
    status: 401,
    asks: expect.stringContaining('Basic'),
  });
});

test('only branches are taken, and the deployed one stays', async () => {
  const at = await repository('references');
  await makeApplication('references');
  const address = remote('references');
  await git(at, 'tag', 'v1');
  expect(await git(at, 'push', address, 'v1')).toMatchObject({ code: 1, text: expect.stringContaining('no tags') });
  const foreign = await git(at, 'push', address, 'HEAD:refs/notes/commits');
  expect(foreign).toMatchObject({ code: 1, text: expect.stringContaining('branches only, and not refs/notes/commits') });
  expect(await git(at, 'push', address, 'main')).toMatchObject({ code: 0 });
  const removed = await git(at, 'push', address, ':main');
  expect(removed).toMatchObject({ code: 1, text: expect.stringContaining('Deploy another branch first') });
  // A rewritten history is deployed, if it is forced.
  await git(at, 'commit', '--quiet', '--amend', '--message', 'rewritten');
  expect((await git(at, 'push', address, 'main')).code).toBe(1);
  expect(await git(at, 'push', '--force', address, 'main')).toMatchObject({
    code: 0,
    text: expect.stringContaining('references is deployed'),
  });
});

test('a push from a shallow clone is taken, and a push beyond the limit is not', async () => {
  const at = await repository('large');
  await commit(at, { second: 'second\n' });
  await makeApplication('large');
  const shallow = path.join(folder, 'shallow');
  await git(folder, 'clone', '--quiet', '--depth=1', `file://${at}`, 'shallow');
  expect(await git(shallow, 'push', remote('large'), 'HEAD:main')).toMatchObject({
    code: 0,
    text: expect.stringContaining('large is deployed'),
  });
  const noise = Array.from({ length: 800_000 }, () => Math.random().toString(36).slice(2)).join('');
  await commit(shallow, { noise });
  const refused = await git(shallow, 'push', remote('large'), 'HEAD:main');
  expect(refused.code).not.toBe(0);
  expect(refused.text).toMatch(/exceeds maximum allowed size/);
});

test('a client that still sends when git has ended gets the answer, and its connection is not reset', async () => {
  const { username, password, hostname, port, pathname } = new URL(remote('web'));
  const rest = Buffer.alloc(4 * 1024 * 1024);
  const client = connect(Number(port), hostname);
  let answer = '';
  client.on('data', (bytes: Buffer) => (answer += bytes.toString()));
  const lines = [
    `POST ${pathname}/git-receive-pack HTTP/1.1`,
    'host: davit',
    `authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    `content-length: ${4 + rest.length}`,
  ];
  client.write(`${lines.join('\r\n')}\r\n\r\nnone`);
  await expect.poll(() => answer).toContain('\r\n\r\n0\r\n');
  client.end(rest);
  // Rejects when the connection is reset.
  await once(client, 'close');
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

test('a push of too many objects, and one of too many branches, is refused with what to do', async () => {
  const at = await repository('many');
  await makeApplication('many');
  const first = (await git(at, 'rev-parse', 'HEAD')).text.trim();
  await commit(at, Object.fromEntries(Array.from({ length: 148 }, (_, index) => [`file-${index}`, `${index}`])));
  const refused = await git(at, 'push', remote('many'), 'HEAD:main');
  expect(refused.code).not.toBe(0);
  expect(refused.text).toMatch(/remote: The push has 15\d objects .* may have 150\. Push it in parts/);
  // In parts, as advised.
  expect(await git(at, 'push', remote('many'), `${first}:refs/heads/main`)).toMatchObject({ code: 0 });
  expect(await git(at, 'push', remote('many'), 'HEAD:refs/heads/main')).toMatchObject({ code: 0 });
  const branches = Array.from({ length: 5 }, (_, index) => `HEAD:refs/heads/branch-${index}`);
  const tooMany = await git(at, 'push', remote('many'), ...branches);
  expect(tooMany).toMatchObject({ code: 1, text: expect.stringContaining('would have 6 branches, and may have 5. Remove some') });
  expect(await git(at, 'push', remote('many'), ...branches.slice(1))).toMatchObject({ code: 0 });
  // A push that removes one makes room for another.
  const swapped = await git(at, 'push', remote('many'), ':branch-1', 'HEAD:refs/heads/branch-0');
  expect(swapped).toMatchObject({ code: 0 });
});

test('a small pack cannot make git allocate much memory: a huge commit is refused, a huge file is read in parts', async () => {
  const at = await repository('huge');
  const address = remote('huge');
  await makeApplication('huge');
  await writeFile(path.join(folder, 'message'), Buffer.alloc(65 * 1024 * 1024, 'a'));
  const made = (await git(at, 'commit-tree', 'HEAD^{tree}', '-F', path.join(folder, 'message'))).text.trim();
  const refused = await git(at, 'push', address, `${made}:refs/heads/main`);
  expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('attempting to allocate') });
  await writeFile(path.join(at, 'zeros'), Buffer.alloc(65 * 1024 * 1024));
  await commit(at, {});
  expect(await git(at, 'push', address, 'main')).toMatchObject({ code: 0 });
});

/** Runs a script in the repository of an application once its next push has changed a branch. */
async function onceStored(id: string, script: string): Promise<void> {
  const { git_repository } = await server.client(owner.tokens.READ).call('getApplication', { params: { applicationId: id } });
  const at = await gitRepositories(server.api.deps.config).open(git_repository?.url ?? '', 'main');
  const hook = path.join(at, 'hooks/reference-transaction');
  await writeFile(hook, `#!/bin/sh\n[ "$1" = committed ] || exit 0\nrm -f "$0"\n${script}\n`, { mode: 0o700 });
}

const logOfTest = { info: () => undefined, warn: () => undefined };

test('a push whose deployed branch git refuses deploys nothing, although another branch is stored', async () => {
  const at = await repository('half');
  const id = await makeApplication('half');
  const params = { applicationId: id };
  const client = server.client(owner.tokens.READ);
  const { git_repository } = await client.call('getApplication', { params });
  const bare = await gitRepositories(server.api.deps.config).open(git_repository?.url ?? '', 'main');
  await writeFile(path.join(bare, 'hooks/update'), '#!/bin/sh\n[ "$1" != refs/heads/main ]\n', { mode: 0o700 });
  const pushed = await git(at, 'push', remote('half'), 'main', 'main:other');
  expect(pushed.text).toContain('[remote rejected] main');
  expect(pushed.text).toContain('remote: Stored. Only the branch main is deployed');
  expect((await client.call('listApplicationDeploymentHistoryV2', { params })).results).toEqual([]);
  expect(await server.database.database.many(oldPushes, [0])).toEqual([]);
});

test('a push whose git is killed once it is stored is deployed', async () => {
  const at = await repository('stored');
  const id = await makeApplication('stored');
  const commitId = (await git(at, 'rev-parse', 'HEAD')).text.trim();
  await onceStored(id, 'kill -9 0');
  expect((await git(at, 'push', remote('stored'), 'main')).code).not.toBe(0);
  const status = () => server.client(owner.tokens.READ).call('getApplicationStatus', { params: { applicationId: id } });
  await expect.poll(async () => (await status()).state, { timeout: 30_000 }).toBe('DEPLOYED');
  expect((await git(at, 'ls-remote', remote('stored'))).text).toContain(commitId);
  expect(await server.database.database.many(oldPushes, [0])).toEqual([]);
});

test('a push whose server died before it requested the deployment is deployed later, once, and as who pushed', async () => {
  const at = await repository('lost');
  const id = await makeApplication('lost');
  const { database } = server.database;
  const record = (commitId: string) => database.one(addPush, [id, commitId, 'token:lost', 'pipeline', 'API']);
  // The server was killed before anything changed: there is nothing to deploy, and the push holds up no later one.
  for (let index = 0; index < 101; index += 1) await record('1'.repeat(40));
  await deployLostPushes(server.api.deps, logOfTest, 0);
  const former = await database.many(oldPushes, [0]);
  expect(former).toHaveLength(101);
  expect(await git(at, 'push', remote('lost'), 'main:other')).toMatchObject({ code: 0 });
  const commitId = (await git(at, 'rev-parse', 'HEAD')).text.trim();
  const url = (await server.client(owner.tokens.READ).call('getApplication', { params: { applicationId: id } })).git_repository
    ?.url;
  const bare = await gitRepositories(server.api.deps.config).open(url ?? '', 'main');
  await git(bare, 'update-ref', 'refs/heads/main', commitId);
  await record(commitId);
  await Promise.all([1, 2].map(() => deployLostPushes(server.api.deps, logOfTest, 0)));
  const client = server.client(owner.tokens.READ);
  const params = { applicationId: id };
  await expect
    .poll(async () => (await client.call('getApplicationStatus', { params })).state, { timeout: 30_000 })
    .toBe('DEPLOYED');
  const { results } = await client.call('listApplicationDeploymentHistoryV2', { params });
  expect(results.map(({ auditing_data: by }) => by.triggered_by)).toEqual(['pipeline']);
  expect(await database.many(oldPushes, [0])).toEqual(former);
});

test('Git LFS is told what to do instead', async () => {
  const response = await fetch(`${server.baseUrl}/git/shop/live/web.git/info/lfs/objects/batch`, { method: 'POST', body: '{}' });
  expect({ status: response.status, text: await response.text() }).toEqual({
    status: 501,
    text: expect.stringContaining('git lfs migrate export'),
  });
});

test('pushes at the same time are all stored', async () => {
  const at = await repository('same-time');
  await makeApplication('same-time');
  const branches = ['one', 'two', 'three'];
  const pushed = await Promise.all(branches.map((name) => git(at, 'push', remote('same-time'), `main:${name}`)));
  expect(pushed).toEqual(branches.map(() => expect.objectContaining({ code: 0 })));
  const { text } = await git(at, 'ls-remote', remote('same-time'));
  for (const name of branches) expect(text).toContain(`refs/heads/${name}`);
});

test('a push that is killed in the middle leaves a repository that works, and its leftovers are removed', async () => {
  const at = await repository('killed');
  await makeApplication('killed');
  const noise = Array.from({ length: 60_000 }, () => Math.random().toString(36).slice(2)).join('');
  await commit(at, { noise });
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const child = spawn('git', ['push', remote('killed'), 'main'], { cwd: at, env, stdio: 'ignore' });
  const home = path.join(server.api.deps.config.stateFolder, 'git');
  await expect.poll(async () => (await readdir(home)).length, { timeout: 30_000 }).toBeGreaterThan(0);
  child.kill('SIGKILL');
  expect(await git(at, 'push', remote('killed'), 'main')).toMatchObject({ code: 0 });
  expect((await git(at, 'ls-remote', remote('killed'))).text).toContain('refs/heads/main');
});

test('repositories without an application, and what killed pushes left, are removed after a while', async () => {
  const { config } = server.api.deps;
  const home = path.join(config.stateFolder, 'git');
  const url = `davit:${randomUUID()}`;
  const unused = await gitRepositories(config).open(url, 'main');
  const leftover = path.join(home, '.new-killed');
  await mkdir(leftover);
  const { signal } = new AbortController();
  await tidyRepositories(server.api.deps, signal);
  expect(await readdir(home)).toEqual(expect.arrayContaining([path.basename(unused), '.new-killed']));
  const longAgo = new Date(Date.now() - 25 * 3_600_000);
  for (const one of [unused, leftover]) await utimes(one, longAgo, longAgo);
  await tidyRepositories(server.api.deps, signal);
  const left = await readdir(home);
  expect(left).not.toContain(path.basename(unused));
  expect(left).not.toContain('.new-killed');
  // Those of applications stay.
  expect((await git(folder, 'ls-remote', remote())).text).toContain('refs/heads/main');
});

test('who may edit a clone only does not push what another environment deploys', async () => {
  const client = server.client(owner.tokens.ADMIN);
  const params = { environmentId };
  await makeApplication('shared');
  const { id: projectId } = (await client.call('listProject', { params: { organizationId: owner.id } })).results?.[0] ?? {
    id: '',
  };
  const body = { name: 'copy', mode: 'DEVELOPMENT' as const };
  await client.call('cloneEnvironment', { params, body });
  const organization = { organizationId: owner.id };
  const role = await client.call('createOrganizationCustomRole', { params: organization, body: { name: 'developers' } });
  const permissions = (['DEVELOPMENT', 'PREVIEW', 'STAGING', 'PRODUCTION'] as const).map((environment_type) => ({
    environment_type,
    permission: environment_type === 'DEVELOPMENT' ? ('MANAGER' as const) : ('VIEWER' as const),
  }));
  await client.call('editEnvironment', { params, body: { name: 'live', mode: 'PRODUCTION' } });
  await client.call('editOrganizationCustomRole', {
    params: { ...organization, customRoleId: role.id ?? '' },
    body: {
      name: 'developers',
      cluster_permissions: [],
      project_permissions: [{ project_id: projectId, is_admin: false, permissions }],
    },
  });
  const { token } = await client.call('createOrganizationApiToken', {
    params: organization,
    body: { name: 'developer', role_id: role.id ?? '' },
  });
  const at = await repository('shared');
  const copy = remote('shared', token).replace('/LIVE/', '/copy/');
  expect(await git(at, 'push', copy, 'main')).toMatchObject({
    code: 128,
    text: expect.stringContaining('deploys the same branch of this repository'),
  });
  expect(await git(at, 'push', copy.replace(token, owner.tokens.WRITE), 'main')).toMatchObject({ code: 0 });
});

test('the id of a repository opens nothing for another service', async () => {
  const client = server.client(owner.tokens.ADMIN);
  const { git_repository } = await client.call('getApplication', { params: { applicationId } });
  const url = git_repository?.url ?? '';
  expect(url).toMatch(/^davit:[0-9a-f-]{36}$/);
  await expect(makeApplication('thief', url)).rejects.toMatchObject({ status: 400 });
  // The record can be sent back as it was read.
  const read = await client.call('getApplication', { params: { applicationId } });
  const body = { dockerfile_path: 'Dockerfile', git_repository: { url: read.git_repository?.url ?? '' } };
  expect((await client.call('editApplication', { params: { applicationId }, body })).git_repository?.url).toBe(url);
  const again = { dockerfile_path: 'Dockerfile', git_repository: { url: 'davit:' } };
  expect((await client.call('editApplication', { params: { applicationId }, body: again })).git_repository?.url).toBe(url);
});
