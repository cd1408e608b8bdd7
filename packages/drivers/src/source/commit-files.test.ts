import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGitSource } from './git-source.ts';
import { recordedContext, scratchFolder, startGitServer, TestRepository, type GitServer } from './testing.ts';

// Uses the real git on both sides, over http.
const scratch = scratchFolder();
const source = createGitSource();
let repository: TestRepository;
let server: GitServer;
let commit: string;

beforeAll(async () => {
  repository = new TestRepository(join(scratch.path, 'files.git'));
  repository.commit('files', {
    Dockerfile: 'FROM scratch\n',
    'web/Dockerfile': 'FROM node\n',
    'web/with space/[x].txt': 'odd',
    'web/empty': '',
  });
  symlinkSync('../Dockerfile', join(repository.folder, 'web/up'));
  symlinkSync('web', join(repository.folder, 'linked'));
  symlinkSync('../../../../etc/passwd', join(repository.folder, 'web/out'));
  symlinkSync('/etc/passwd', join(repository.folder, 'web/absolute'));
  symlinkSync('loop', join(repository.folder, 'web/loop'));
  commit = repository.commit('links');
  server = await startGitServer(scratch.path);
});
afterAll(async () => {
  await server.close();
  scratch.remove();
});

function read(rootPath: string, ...paths: readonly string[]) {
  return source.files({ url: `${server.url}/files.git`, branch: 'main', commit }, { rootPath, paths }, recordedContext());
}

test('gives the texts of files below a folder, and null for what is no file there', async () => {
  expect(await read('/web', 'Dockerfile', 'with space/[x].txt', 'empty', 'nope', 'with space')).toEqual([
    'FROM node\n',
    'odd',
    '',
    null,
    null,
  ]);
  expect(await read('/', 'Dockerfile', './web//Dockerfile')).toEqual(['FROM scratch\n', 'FROM node\n']);
});

test('follows links inside of the repository, and none out of it', async () => {
  expect(await read('/', 'web/up', 'linked/Dockerfile')).toEqual(['FROM scratch\n', 'FROM node\n']);
  expect(await read('/web', 'out', 'absolute', 'loop', '../../x')).toEqual([null, null, null, null]);
});

test('lists files below a folder, without links, and reads those that are chosen', async () => {
  const list = (rootPath: string, maximumFiles: number) =>
    source.list(
      { url: `${server.url}/files.git`, branch: 'main', commit },
      { rootPath, maximumFiles, choose: (paths) => paths.filter((path) => path.endsWith('Dockerfile')) },
      recordedContext(),
    );
  expect(await list('/', 100)).toEqual({
    paths: ['Dockerfile', 'web/Dockerfile', 'web/empty', 'web/with space/[x].txt'],
    isComplete: true,
    texts: new Map([
      ['Dockerfile', 'FROM scratch\n'],
      ['web/Dockerfile', 'FROM node\n'],
    ]),
  });
  expect(await list('/web/', 1)).toEqual({
    paths: ['Dockerfile'],
    isComplete: false,
    texts: new Map([['Dockerfile', 'FROM node\n']]),
  });
  await expect(list('/nope', 1)).rejects.toMatchObject({ code: 'BUILD_ROOT_MISSING' });
});

test('a folder that is not there is told apart from a file that is not', async () => {
  await expect(read('/api', 'Dockerfile')).rejects.toMatchObject({ code: 'BUILD_ROOT_MISSING' });
  await expect(read('/Dockerfile', 'x')).rejects.toMatchObject({ code: 'BUILD_ROOT_MISSING' });
  await expect(read('/..', 'x')).rejects.toMatchObject({ code: 'BUILD_ROOT_MISSING' });
});

test('a host that gives no commits by their ids and nothing in parts is read all the same', async () => {
  const old = await startGitServer(scratch.path, { refusesIds: true });
  try {
    const wanted = { rootPath: '/web', paths: ['Dockerfile'] };
    const found = await source.files({ url: `${old.url}/files.git`, branch: 'main', commit }, wanted, recordedContext());
    expect(found).toEqual(['FROM node\n']);
  } finally {
    await old.close();
  }
});
