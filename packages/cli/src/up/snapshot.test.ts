import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openFolder } from './detect.ts';
import { ignoreRules } from './ignore.ts';
import { Snapshots } from './snapshot.ts';

let root: string;
let folder: string;
let remote: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'davit-snapshot-'));
  folder = path.join(root, 'shop');
  remote = path.join(root, 'remote.git');
  await mkdir(folder);
  git(root, 'init', '--quiet', '--bare', remote);
});
afterAll(() => rm(root, { recursive: true }));

const identity = ['-c', 'user.name=Mira', '-c', 'user.email=mira@example.org'];
const git = (at: string, ...words: string[]): string =>
  execFileSync('git', [...identity, ...words], { cwd: at, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const write = async (name: string, text = name): Promise<void> => {
  await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
  await writeFile(path.join(folder, name), text);
};
const target = () => ({ url: remote, branch: 'main', token: 'secret', signal: new AbortController().signal });
const filesOf = (commit: string): string[] => git(remote, 'ls-tree', '-r', '--name-only', commit).trim().split('\n');
const open = (): Snapshots => new Snapshots(folder, path.join(root, 'cache'), 'http://server');

test('a folder without git is sent, without what the two files of rules name', async () => {
  await write('server.js');
  await write('node_modules/a/index.js');
  await write('packages/a/node_modules/b.js');
  await write('notes.md');
  await write('.dockerignore', '# rules\nnode_modules\n*.md\nDockerfile\n');
  await write('.gitignore', 'dist\n');
  await write('dist/built.js');
  await write('Dockerfile');
  const first = await open().take();
  expect(first).toMatchObject({ changedFiles: null, files: 5, submodules: [], secrets: [] });
  const commit = await open().push(first, target());
  expect(filesOf(commit)).toEqual(['.dockerignore', '.gitignore', 'Dockerfile', 'packages/a/node_modules/b.js', 'server.js']);
  expect(await readdir(folder)).not.toContain('.git');
  expect((await open().take()).changedFiles).toBe(0);
});

test('changes are sent with changes that are not committed; the folder’s own repository is not touched, others are left out', async () => {
  git(folder, 'init', '--quiet', '--initial-branch', 'work');
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', 'add the shop');
  await mkdir(path.join(folder, 'library'));
  git(path.join(folder, 'library'), 'init', '--quiet');
  await write('library/a.js');
  git(path.join(folder, 'library'), 'add', 'a.js');
  git(path.join(folder, 'library'), 'commit', '--quiet', '--message', 'library');
  await write('server.js', 'changed');
  const before = git(folder, 'status', '--porcelain') + git(folder, 'for-each-ref');
  const snapshot = await open().take();
  expect(snapshot).toMatchObject({ changedFiles: 1, submodules: ['library'] });
  const commit = await open().push(snapshot, target());
  expect(git(remote, 'log', '-1', '--format=%s', commit)).toBe('add the shop (with changes that are not committed)\n');
  expect(filesOf(commit)).not.toContain('library');
  expect(git(folder, 'status', '--porcelain') + git(folder, 'for-each-ref')).toBe(before);
});

test('what somebody else pushed in between stays in the history', async () => {
  const other = path.join(root, 'other');
  git(root, 'clone', '--quiet', '--branch', 'main', remote, other);
  await writeFile(path.join(other, 'theirs.js'), '');
  git(other, 'add', '--all');
  git(other, 'commit', '--quiet', '--message', 'theirs');
  expect(await open().isLatest(target())).toBe(true);
  git(other, 'push', '--quiet', 'origin', 'main');
  // Nothing in the folder has changed, but what is deployed has.
  expect((await open().take()).changedFiles).toBe(0);
  expect(await open().isLatest(target())).toBe(false);
  await write('server.js', 'changed again');
  const commit = await open().push(await open().take(), target());
  expect(git(remote, 'rev-parse', 'main').trim()).toBe(commit);
  expect(git(remote, 'log', '--format=%s', 'main').split('\n')).toContain('theirs');
  expect(filesOf(commit)).not.toContain('theirs.js');
});

test('who leaves during the deployment has sent the files', async () => {
  // The hook lasts as long as a deployment.
  const release = path.join(root, 'release');
  const hook = path.join(remote, 'hooks/post-receive');
  await mkdir(path.dirname(hook), { recursive: true });
  await writeFile(hook, `#!/bin/sh\necho Deploying >&2\nwhile [ ! -e '${release}' ]; do sleep 0.05; done\n`, { mode: 0o755 });
  await write('server.js', 'changed for a deployment');
  const snapshots = open();
  const snapshot = await snapshots.take();
  expect(snapshot.changedFiles).toBe(1);
  const leave = new AbortController();
  let pushing: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve) => {
    const onTalk = (text: string): void => {
      if (text.includes('Deploying')) resolve();
    };
    pushing = snapshots.push(snapshot, { ...target(), signal: leave.signal, onTalk }).catch(() => undefined);
  });
  await snapshots.rememberPushed();
  leave.abort();
  await pushing;
  await writeFile(release, '');
  await rm(hook);
  expect((await open().take()).changedFiles).toBe(0);
  expect(await open().isLatest(target())).toBe(true);
});

test('a large file is sent whole when it changes: the server has little memory for a difference', async () => {
  const mebibyte = 1024 * 1024;
  git(remote, 'config', 'core.bigFileThreshold', '16m');
  vi.stubEnv('GIT_ALLOC_LIMIT', String(18 * mebibyte));
  try {
    for (const last of ['a', 'b']) {
      await write('large', 'x'.repeat(20 * mebibyte) + last);
      const sent = await open().push(await open().take(), target());
      expect(git(remote, 'rev-parse', 'main').trim()).toBe(sent);
    }
  } finally {
    vi.unstubAllEnvs();
    await rm(path.join(folder, 'large'));
  }
});

test('a file that usually has secrets is named, until a rule leaves it out', async () => {
  await write('.env', 'PASSWORD=1');
  expect((await open().take()).secrets).toEqual(['.env']);
  await write('.gitignore', 'dist\n.env\n');
  expect((await open().take()).secrets).toEqual([]);
});

test('a folder of a larger repository is sent without what files above it name; an ignored one is sent', async () => {
  const whole = path.join(root, 'whole');
  git(root, 'init', '--quiet', whole);
  await writeFile(path.join(whole, '.gitignore'), 'node_modules\nbuilt\n.env\n*.log\nDockerfile\n');
  const files = ['app/server.js', 'app/Dockerfile', 'app/.env', 'app/node_modules/a/b.js', 'app/a [b]/c.log', 'built/index.html'];
  for (const name of files) {
    await mkdir(path.dirname(path.join(whole, name)), { recursive: true });
    await writeFile(path.join(whole, name), name);
  }
  const sent = async (name: string): Promise<string[]> => {
    const snapshots = new Snapshots(path.join(whole, name), path.join(root, 'cache'), 'http://server');
    return filesOf(await snapshots.push(await snapshots.take(), { ...target(), branch: name }));
  };
  expect(await sent('app')).toEqual(['Dockerfile', 'server.js']);
  expect(await sent('built')).toEqual(['index.html']);
  expect(await openFolder(path.join(whole, 'built')).list()).toEqual(['index.html']);
});

test('rules of Docker become rules of git', () => {
  const rules = ignoreRules('# note\n/a\nb/\n**/*.log\n!b/keep\n./c\n\n');
  expect(rules.split('\n')).toEqual(['/.git', '/a', '/b', '/**/*.log', '!/b/keep', '/c', '!/Dockerfile', '!/.dockerignore', '']);
});

test('nothing is sent while the rules cannot be read', async () => {
  const unreadable = path.join(root, 'unreadable');
  await mkdir(path.join(unreadable, '.dockerignore'), { recursive: true });
  await expect(new Snapshots(unreadable, path.join(root, 'cache'), 'http://server').take()).rejects.toThrow(
    'cannot be read (EISDIR)',
  );
});
