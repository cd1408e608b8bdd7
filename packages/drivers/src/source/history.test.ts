import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GitSource } from '../source-driver.ts';
import { createGitSource } from './git-source.ts';
import { recordedContext, scratchFolder, startGitServer, TestRepository, type GitServer } from './testing.ts';

const scratch = scratchFolder();
const repository = new TestRepository(join(scratch.path, 'shop'));
const git = createGitSource({ allowLocalRepositories: true });
let server: GitServer;
let old: GitServer;
const ids: Record<string, string> = {};

beforeAll(async () => {
  ids['first'] = repository.commit('first', { 'web/index.html': 'one', 'docs/a.md': 'a' });
  ids['second'] = repository.commit('second', { 'web/index.html': 'two' });
  repository.git('checkout', '--quiet', '-b', 'feature');
  ids['feature'] = repository.commit('on the branch', { 'api/größe.ts': 'x' });
  repository.git('checkout', '--quiet', 'main');
  repository.git('mv', 'docs/a.md', 'docs/b.md');
  ids['third'] = repository.commit('third\n\nwith a body');
  repository.git('tag', 'v3');
  server = await startGitServer(scratch.path);
  old = await startGitServer(scratch.path, { refusesIds: true });
});
afterAll(async () => {
  await server.close();
  await old.close();
  scratch.remove();
});

const id = (name: string): string => ids[name] ?? name;
const changes = (source: GitSource, base: string, head: string, sinceParting = false) =>
  git.changes(source, { base: id(base), head: id(head), sinceParting }, recordedContext());

describe.each(['a file URL', 'http', 'http of protocol version 0'])('over %s', (transport) => {
  let source: GitSource;
  beforeAll(() => {
    const urls = { http: `${server.url}/shop/.git`, 'a file URL': repository.folder };
    source = { url: Object.entries(urls).find(([name]) => name === transport)?.[1] ?? `${old.url}/shop/.git` };
  });

  test('heads are the branches and which is the default one', async () => {
    const heads = await git.heads(source, recordedContext());
    expect(heads).toEqual({
      defaultBranch: 'main',
      branches: new Map([
        ['feature', id('feature')],
        ['main', id('third')],
      ]),
    });
  });

  test('history is the newest commits of the branch, newest first, with authors and tags', async () => {
    const [third, second, ...rest] = await git.history({ ...source, branch: 'main' }, 2, recordedContext());
    expect(third).toMatchObject({ id: id('third'), message: 'third\n\nwith a body', authorEmail: 'ada@example.com', tag: 'v3' });
    expect(second).toMatchObject({ id: id('second'), authorName: 'Ada', tag: '' });
    expect(rest).toEqual([]);
    const missing = git.history({ ...source, branch: 'nowhere' }, 2, recordedContext());
    await expect(missing).rejects.toMatchObject({ code: 'GIT_REFERENCE_NOT_FOUND' });
  });

  test('changes name what differs, both names of what was renamed, and that history went on', async () => {
    expect(await changes(source, 'first', 'third')).toEqual({
      isForward: true,
      files: ['docs/a.md', 'docs/b.md', 'web/index.html'],
    });
    expect(await changes(source, 'third', 'third')).toEqual({ isForward: true, files: [] });
  });

  test('changes of a branch are those since it parted', async () => {
    expect(await changes(source, 'third', 'feature', true)).toEqual({ isForward: false, files: ['api/größe.ts'] });
  });

  test('going back is not forward', async () => {
    expect(await changes(source, 'third', 'second')).toEqual({ isForward: false, files: ['docs/a.md', 'docs/b.md'] });
  });

  test('a base that is gone is told apart from a head that is', async () => {
    const gone = 'a'.repeat(40);
    expect(await changes(source, gone, 'third')).toEqual({ isForward: false, files: null });
    await expect(changes(source, 'third', gone)).rejects.toMatchObject({ code: 'GIT_REFERENCE_NOT_FOUND' });
  });
});
