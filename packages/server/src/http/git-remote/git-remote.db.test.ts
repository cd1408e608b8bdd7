import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createFakeCluster, createGitSource, DriverError, type FakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestOrganization, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
// A repository that the real git creates.
import { TestRepository } from '../../../../drivers/src/source/testing.ts';

let server: TestServer;
let fake: FakeCluster;
let engine: Engine | undefined;
let owner: TestOrganization;
let environmentId: string;
const folder = mkdtempSync(path.join(tmpdir(), 'davit-git-remote-'));

beforeAll(async () => {
  fake = createFakeCluster();
  const { cluster, builder, carrier, gateway } = fake;
  server = await startTestServer({
    engine: (parts) => {
      const ownRepositories = path.join(path.dirname(parts.settings.workFolder), 'repositories');
      const source = createGitSource({ ownRepositories });
      return (engine = createEngine({ ...parts, drivers: { docker: { cluster, builder, carrier, gateway, source } } }));
    },
    environment: { DAVIT_READY_TIMEOUT_SECONDS: '5', DAVIT_DRAIN_SECONDS: '1' },
  });
  await engine?.start();
  owner = await server.organization();
  const api = server.client(owner.tokens.WRITE);
  const project = await api.call('createProject', { params: { organizationId: owner.id }, body: { name: 'shop' } });
  const body = { name: 'staging', mode: 'STAGING' as const };
  environmentId = (await api.call('createEnvironment', { params: { projectId: project.id }, body })).id;
});
afterAll(async () => {
  await engine?.stop();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Said {
  readonly code: number;
  readonly text: string;
}

/** Runs git in the repository without blocking the server, which runs in this process. */
function git(repository: TestRepository, ...args: readonly string[]): Promise<Said> {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
  return new Promise((resolve) => {
    execFile('git', ['-C', repository.folder, ...args], { env, encoding: 'utf8' }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

function remoteOf(name: string, token: string): string {
  const url = new URL(`${server.baseUrl}/git/shop/staging/${name}.git`);
  Object.assign(url, { username: 'any', password: token });
  return url.href;
}

async function application(name: string): Promise<string> {
  const git_repository = { url: `${server.baseUrl}/git/shop/staging/${name}.git`, branch: 'main' };
  const body = { name, git_repository, dockerfile_path: 'Dockerfile' };
  return (await server.client(owner.tokens.WRITE).call('createApplication', { params: { environmentId }, body })).id;
}

function repository(): TestRepository {
  const made = new TestRepository(path.join(folder, randomUUID()));
  made.commit('first', { Dockerfile: 'FROM scratch\n' });
  return made;
}

test('a push deploys the commit and reports it, a later one too, also a forced one, and a clone gets it back', async () => {
  const id = await application('web');
  const sources = repository();
  const url = remoteOf('web', owner.tokens.WRITE);
  const first = await git(sources, 'push', url, 'main');
  expect(first.text).toContain('remote: web is deployed.');
  expect(first.code).toBe(0);
  const commitOf = async () =>
    (await server.client(owner.tokens.READ).call('getApplication', { params: { applicationId: id } })).git_repository
      ?.deployed_commit_id;
  expect(await commitOf()).toBe(sources.git('rev-parse', 'HEAD'));
  sources.git('commit', '--quiet', '--amend', '--message=other');
  expect((await git(sources, 'push', url, 'main')).code).toBe(1);
  expect((await git(sources, 'push', '--force', url, 'main')).text).toContain('remote: web is deployed.');
  expect(await commitOf()).toBe(sources.git('rev-parse', 'HEAD'));
  const other = await git(sources, 'push', url, 'main:topic');
  expect(other.text).toContain('Davit deploys the branch main; this push did not change it.');
  expect((await git(sources, 'clone', '--quiet', remoteOf('web', owner.tokens.READ), 'back')).code).toBe(0);
}, 120_000);

test('a failed deployment says its cause and what to do, and the branch keeps the commit', async () => {
  await application('broken');
  fake.script = {
    before: ({ method }) => {
      if (method === 'build') throw new DriverError({ cause: 'BUILD_COMMAND_FAILED', message: 'RUN make ended with code 2' });
    },
  };
  const pushed = await git(repository(), 'push', remoteOf('broken', owner.tokens.WRITE), 'main');
  fake.script = {};
  expect(pushed.text).toContain('RUN make ended with code 2');
  expect(pushed.text).toContain('The last lines of the build log say why.');
  expect(pushed.text).toContain('remote: The deployment of broken has ended: FAILED');
  expect(pushed.code).toBe(0);
}, 120_000);

test('a push without an application, tags and foreign references are refused with a sentence', async () => {
  await application('tags');
  const sources = repository();
  const unknown = await git(sources, 'push', remoteOf('nothing', owner.tokens.WRITE), 'main');
  expect(unknown.text).toContain('remote: There is no such application. Create it first');
  const pushed = await git(sources, 'push', remoteOf('tags', owner.tokens.WRITE), 'main:refs/tags/v1', 'main:refs/notes/x');
  expect(pushed.code).toBe(1);
  expect(pushed.text).toContain('Davit keeps branches only. Push the branch without its tags');
  expect(pushed.text).toContain('Push a branch instead of refs/notes/x');
}, 60_000);

test('who may not see the service finds nothing, who may only read it cannot push, and nobody can without a token', async () => {
  await application('closed');
  const stranger = await server.organization();
  const ask = async (token: string | null, service = 'git-receive-pack', name = 'closed') => {
    const headers: Record<string, string> =
      token === null ? {} : { authorization: `Basic ${Buffer.from(`git:${token}`).toString('base64')}` };
    return fetch(`${server.baseUrl}/git/shop/staging/${name}.git/info/refs?service=${service}`, { headers });
  };
  const without = await ask(null);
  expect([without.status, without.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="Davit", charset="UTF-8"']);
  expect((await ask('wrong')).status).toBe(401);
  const hidden = await ask(stranger.tokens.ADMIN);
  const missing = await ask(stranger.tokens.ADMIN, 'git-receive-pack', 'none');
  expect([hidden.status, missing.status]).toEqual([404, 404]);
  expect(await hidden.text()).toBe(await missing.text());
  expect((await ask(owner.tokens.READ)).status).toBe(403);
  expect((await ask(owner.tokens.DEPLOY)).status).toBe(403);
  expect((await ask(owner.tokens.READ, 'git-upload-pack')).status).toBe(200);
}, 60_000);
