import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Client } from '@davit/client';
import { createFakeCluster, createGitSource } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../../../../drivers/src/source/testing.ts';

// Git is real on both sides; only the cluster is a fake.
const scratch = scratchFolder();
let git: GitServer;
let locked: GitServer;
let server: TestServer;
let api: Client;
let organization: { params: { organizationId: string } };
let at: { params: { environmentId: string } };
let url: string;

beforeAll(async () => {
  const repository = new TestRepository(join(scratch.path, 'shop.git'));
  repository.commit('first', {
    'web/Dockerfile': 'ARG VERSION=1\nFROM registry.example.org/node:${VERSION} AS build\nARG TOKEN\nFROM build\nEXPOSE 3000\n',
    'web/broken': 'RUM x\n',
    'chart/values.yaml': 'a: 1\n',
    'chart/Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
    'bare/Chart.yaml': 'apiVersion: v2\nname: bare\nversion: 1.0.0\n',
  });
  git = await startGitServer(scratch.path);
  locked = await startGitServer(scratch.path, { login: 'git:sesame' });
  url = `${git.url}/shop.git`;
  server = await startTestServer({
    engine: (parts) => createEngine({ ...parts, drivers: { docker: { ...fakeDrivers(), source: createGitSource() } } }),
  });
  const { id, tokens } = await server.organization();
  api = server.client(tokens.WRITE);
  organization = { params: { organizationId: id } };
  const project = await api.call('createProject', { ...organization, body: { name: 'shop' } });
  const environment = await api.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  at = { params: { environmentId: environment.id } };
});
afterAll(async () => {
  await server.close();
  await git.close();
  await locked.close();
  scratch.remove();
});

function fakeDrivers() {
  const { cluster, builder, carrier, gateway } = createFakeCluster();
  return { cluster, builder, carrier, gateway };
}

const dockerfile = (body: object = {}, repository: object = {}) =>
  api.call('checkDockerfile', {
    ...at,
    body: { git_repository: { url, branch: 'main', root_path: '/web', ...repository }, dockerfile_path: 'Dockerfile', ...body },
  });

test('a Dockerfile is found, with its arguments, images and ports', async () => {
  const expected = {
    dockerfile_path: 'Dockerfile',
    arg: ['VERSION', 'TOKEN'],
    repositories: ['registry.example.org/node:${VERSION}'],
    ports: [3000],
  };
  expect(await dockerfile()).toEqual(expected);
  expect(await dockerfile({ dockerfile_path: '/web/Dockerfile' }, { branch: null, root_path: null })).toEqual({
    ...expected,
    dockerfile_path: '/web/Dockerfile',
  });
});

test('a repository says what it can be deployed as, below its root path', async () => {
  const look = (repository: object) =>
    api.call('checkGitRepository', { ...at, body: { git_repository: { url, ...repository } } });
  expect(await look({})).toEqual({
    commit_id: expect.stringMatching(/^[0-9a-f]{40}$/),
    default_branch: 'main',
    branches: ['main'],
    dockerfiles: [
      {
        path: 'web/Dockerfile',
        ports: [{ port: 3000, protocol: 'TCP' }],
        stages: ['build'],
        arguments: ['VERSION', 'TOKEN'],
        images: ['registry.example.org/node:${VERSION}'],
        fault: null,
      },
    ],
    compose_file: null,
    charts: ['bare', 'chart'],
    terraform: false,
    languages: [],
    complete: true,
  });
  expect(await look({ root_path: '/chart', branch: 'main' })).toMatchObject({ dockerfiles: [], charts: ['.'] });
  for (const [repository, path] of [
    [{ branch: 'nope' }, 'branch'],
    [{ root_path: '/nope' }, 'root_path'],
    [{ url: `${locked.url}/shop.git` }, 'url'],
  ] as const) {
    const errors = [{ path: `git_repository.${path}` }];
    await expect(look(repository)).rejects.toMatchObject({ status: 400, code: 'SOURCE_NOT_USABLE', errors });
  }
});

test('what is wrong is told with its cause and its field', async () => {
  const nowhere = url.replace('shop', 'nope');
  for (const [call, cause, path] of [
    [() => dockerfile({ dockerfile_path: 'nope' }), 'DOCKERFILE_MISSING', 'dockerfile_path'],
    [() => dockerfile({ dockerfile_path: 'broken' }), 'DOCKERFILE_INVALID', 'dockerfile_path'],
    [() => dockerfile({}, { root_path: '/api' }), 'BUILD_ROOT_MISSING', 'git_repository.root_path'],
    [() => dockerfile({}, { branch: 'nope' }), 'GIT_REFERENCE_NOT_FOUND', 'git_repository.branch'],
    [() => dockerfile({}, { url: nowhere }), 'GIT_', 'git_repository.url'],
    [() => dockerfile({}, { url: 'http://127.0.0.1:1/a/b.git' }), 'GIT_UNREACHABLE', 'git_repository.url'],
  ] as const) {
    const code = 'SOURCE_NOT_USABLE';
    await expect(call()).rejects.toMatchObject({
      status: 400,
      code,
      message: expect.stringContaining(cause),
      errors: [{ path }],
    });
  }
  for (const [call, path] of [
    [() => dockerfile({ dockerfile_path: '../x' }), 'dockerfile_path'],
    [() => dockerfile({}, { url: '/etc' }), 'git_repository.url'],
    [() => dockerfile({}, { branch: 'a..b' }), 'git_repository.branch'],
  ] as const) {
    await expect(call()).rejects.toMatchObject({ status: 400, code: 'VALIDATION_FAILED', errors: [{ path }] });
  }
});

test('a private repository is read with a git token of the organization, and with no other', async () => {
  const repository = { url: `${locked.url}/shop.git` };
  await expect(dockerfile({}, repository)).rejects.toMatchObject({ message: expect.stringContaining('GIT_ACCESS_DENIED') });
  const body = { name: 'git', type: 'GENERIC', token: 'sesame' } as const;
  const token = await api.call('createGitToken', { ...organization, body });
  expect(await dockerfile({}, { ...repository, git_token_id: token.id })).toMatchObject({ arg: ['VERSION', 'TOKEN'] });
  const stranger = await server.organization();
  const theirs = await server
    .client(stranger.tokens.WRITE)
    .call('createGitToken', { params: { organizationId: stranger.id }, body });
  for (const git_token_id of [theirs.id, randomUUID()]) {
    const refused = dockerfile({}, { ...repository, git_token_id });
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_REFERENCE',
      errors: [{ path: 'git_repository.git_token_id' }],
    });
  }
});

test('a Helm chart is where its Chart.yaml is', async () => {
  const check = (root_path: string) => api.call('checkHelmRepository', { ...at, body: { git_repository: { url, root_path } } });
  expect(await check('/chart')).toEqual({});
  const errors = [{ path: 'git_repository.root_path' }];
  await expect(check('/web')).rejects.toMatchObject({ status: 400, code: 'SOURCE_NOT_USABLE', errors });
  await expect(check('/nope')).rejects.toMatchObject({ status: 400, code: 'SOURCE_NOT_USABLE', errors });
});

test('the values of a chart are read as they are, and a chart without any has none', async () => {
  const values = (git_repository: object) =>
    api.call('createHelmDefaultValues', { ...at, body: { source: { git_repository: { url, ...git_repository } } } });
  expect(await values({ root_path: '/chart' })).toBe('a: 1\n');
  expect(await values({ root_path: '/bare' })).toBe('');
  for (const [repository, path, code] of [
    [{ root_path: '/web' }, 'root_path', 'SOURCE_NOT_USABLE'],
    [{ root_path: '/chart', branch: 'nope' }, 'branch', 'SOURCE_NOT_USABLE'],
    [{ url: 'http://127.0.0.1:1/a/b.git' }, 'url', 'SOURCE_NOT_USABLE'],
    [{ url: '/etc' }, 'url', 'VALIDATION_FAILED'],
    [{ git_token_id: randomUUID() }, 'git_token_id', 'INVALID_REFERENCE'],
  ] as const) {
    const errors = [{ path: `source.git_repository.${path}` }];
    await expect(values(repository)).rejects.toMatchObject({ status: 400, code, errors });
  }
});

test('files are all there, or those that are not are named', async () => {
  const check = (files: string[]) => api.call('checkGitFile', { ...at, body: { git_repository: { url }, files } });
  expect(await check(['chart/values.yaml', 'web/Dockerfile'])).toEqual({});
  await expect(check(['chart/values.yaml', 'nope', 'chart'])).rejects.toMatchObject({
    status: 400,
    code: 'SOURCE_NOT_USABLE',
    errors: [{ path: 'files.1' }, { path: 'files.2' }],
  });
  await expect(check([])).rejects.toMatchObject({ status: 400, errors: [{ path: 'files' }] });
});

describe('a git token', () => {
  let count = 0;
  const token = async (body: object): Promise<string> => {
    count += 1;
    const named = { name: `token ${count}`, type: 'GENERIC', token: 'sesame', ...body } as const;
    return (await api.call('createGitToken', { ...organization, body: named })).id;
  };
  /** `sent`: whether the host received credentials. */
  const check = async (gitTokenId: string, repository: string): Promise<{ message: string | null; sent: boolean }> => {
    const before = locked.requests.length;
    const body = {
      git_repository: { url: repository, branch: 'main', root_path: '/web', git_token_id: gitTokenId },
      files: ['Dockerfile'],
    };
    const message = await api.call('checkGitFile', { ...at, body }).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
    return { message, sent: locked.requests.slice(before).some(({ authorization }) => authorization !== undefined) };
  };
  const here = (): string => `${locked.url}/shop.git`;
  const sameUnderOtherName = (): string => here().replace('127.0.0.1', 'localhost');

  test('of a generic host goes to the host that it was first used with, and to no other', async () => {
    const id = await token({});
    expect(await check(id, here())).toEqual({ message: null, sent: true });
    const { message, sent } = await check(id, sameUnderOtherName());
    expect(message).toContain('is for 127.0.0.1 and is not sent to localhost');
    expect(sent).toBe(false);
    expect(await check(id, here())).toEqual({ message: null, sent: true });
  });

  test('goes to the host of its API, and those of the public hosts to these alone', async () => {
    const own = await token({ git_api_url: 'http://localhost:1/api' });
    expect(await check(own, sameUnderOtherName())).toEqual({ message: null, sent: true });
    expect(await check(own, here())).toMatchObject({ message: expect.stringContaining('not sent to 127.0.0.1'), sent: false });
    for (const type of ['HOSTA', 'HOSTB', 'HOSTC'])
      expect(await check(await token({ type }), here())).toMatchObject({
        message: expect.stringContaining('not sent to 127.0.0.1'),
        sent: false,
      });
  });
});
