import { chownSync, existsSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sensitive } from '@davit/base';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { DriverError } from '../errors.ts';
import { createGitSource } from './git-source.ts';
import {
  recordedContext,
  scratchFolder,
  startGitServer,
  TestRepository,
  type GitServer,
  type GitServerBehaviour,
} from './testing.ts';

// Uses the real git on both sides: `git http-backend` serves on loopback.
const scratch = scratchFolder();
const source = createGitSource();
const localSource = createGitSource({ allowLocalRepositories: true });
const open: GitServer[] = [];
let repository: TestRepository;
let first: string;
let second: string;
let featured: string;

beforeAll(() => {
  repository = new TestRepository(join(scratch.path, 'app.git'));
  first = repository.commit('first', { 'a.txt': 'one', 'web/index.html': 'page', 'api/run.sh': 'run' });
  second = repository.commit('second\n\nwith a body', { 'a.txt': 'two' });
  repository.git('tag', '-a', 'v2', '-m', 'release');
  repository.git('checkout', '--quiet', '-b', 'feature/x', first);
  featured = repository.commit('featured', { 'f.txt': 'f' });
  repository.git('checkout', '--quiet', 'main');
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

afterAll(() => scratch.remove());

async function serve(behaviour: GitServerBehaviour = {}): Promise<GitServer> {
  const server = await startGitServer(scratch.path, behaviour);
  open.push(server);
  return server;
}

const target = (): string => join(scratch.path, `out-${Math.random().toString(36).slice(2)}`);

async function failure(promise: Promise<unknown>): Promise<DriverError> {
  const error = await promise.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw error;
  return error;
}

const secret = 'canary-Zq9/+ pä$$"word';
const credentials = { username: 'git-user', password: new Sensitive(secret), hosts: ['127.0.0.1'] };
const login = `git-user:${secret}`;

describe('resolving', () => {
  test('without a branch it is the newest commit of the default branch', async () => {
    const { url } = await serve();
    expect(await source.resolve({ url: `${url}/app.git` }, recordedContext())).toBe(second);
  });

  test('a branch with a slash in its name is found, and one that only ends alike is not taken for it', async () => {
    const { url } = await serve();
    expect(await source.resolve({ url: `${url}/app.git`, branch: 'feature/x' }, recordedContext())).toBe(featured);
    expect((await failure(source.resolve({ url: `${url}/app.git`, branch: 'x' }, recordedContext()))).code).toBe(
      'GIT_REFERENCE_NOT_FOUND',
    );
  });

  test('a full commit id is taken as it is, without asking the host', async () => {
    const server = await serve();
    expect(await source.resolve({ url: `${server.url}/app.git`, commit: first.toUpperCase() }, recordedContext())).toBe(first);
    expect(server.requests).toEqual([]);
  });

  test.each([{ refusesIds: false }, { refusesIds: true }])(
    'an abbreviated id of an older commit becomes the full one (%o)',
    async (behaviour) => {
      const { url } = await serve(behaviour);
      expect(await source.resolve({ url: `${url}/app.git`, branch: 'main', commit: first.slice(0, 8) }, recordedContext())).toBe(
        first,
      );
      expect(await source.resolve({ url: `${url}/app.git`, commit: featured.slice(0, 8) }, recordedContext())).toBe(featured);
    },
  );

  test('a branch that is not there is named, with those that are', async () => {
    const { url } = await serve();
    const error = await failure(source.resolve({ url: `${url}/app.git`, branch: 'nope' }, recordedContext()));
    expect(error.code).toBe('GIT_REFERENCE_NOT_FOUND');
    expect(error.message).toMatch(/has no branch nope\. Its branches: feature\/x, main\.$/);
  });

  test('no more than ten branches are listed', async () => {
    const many = new TestRepository(join(scratch.path, 'many.git'));
    many.commit('only', { a: 'a' });
    for (let index = 0; index < 14; index += 1) many.git('branch', `b${index}`);
    const { url } = await serve();
    const error = await failure(source.resolve({ url: `${url}/many.git`, branch: 'nope' }, recordedContext()));
    expect(error.message).toMatch(/and 5 more\.$/);
  });

  test('a repository without commits says that it has no branches yet', async () => {
    void new TestRepository(join(scratch.path, 'empty.git'));
    const { url } = await serve();
    const error = await failure(source.resolve({ url: `${url}/empty.git` }, recordedContext()));
    expect([error.code, error.message]).toEqual([
      'GIT_REFERENCE_NOT_FOUND',
      expect.stringContaining('has no default branch. It has no branches yet.'),
    ]);
  });

  test.each(['-x', '--upload-pack=touch /tmp/x', 'a b', 'a\nb', 'a..b', 'a~1', '.hidden', 'a.lock', ''])(
    'a branch name that git would not allow is refused: %j',
    async (branch) => {
      const server = await serve();
      const error = await failure(source.resolve({ url: `${server.url}/app.git`, branch }, recordedContext()));
      expect(error.code).toBe('GIT_REFERENCE_NOT_FOUND');
      expect(server.requests).toEqual([]);
    },
  );
});

describe('checking out', () => {
  test('an older commit arrives as it was, without .git, with its message, author and date', async () => {
    const { url } = await serve();
    const folder = target();
    const commit = await source.checkout({ url: `${url}/app.git`, commit: first }, folder, recordedContext());
    expect(readdirSync(folder).sort()).toEqual(['a.txt', 'api', 'web']);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
    expect(commit).toMatchObject({ id: first, message: 'first', authorName: 'Ada', tag: '' });
    expect(Math.abs(Date.now() - Date.parse(commit.createdAt))).toBeLessThan(300_000);
  });

  test('the tag that points at the commit is named', async () => {
    const { url } = await serve();
    const commit = await source.checkout({ url: `${url}/app.git`, commit: second }, target(), recordedContext());
    expect(commit).toMatchObject({ tag: 'v2', message: 'second\n\nwith a body' });
  });

  test('what was in the folder before is gone', async () => {
    const { url } = await serve();
    const folder = target();
    await source.checkout({ url: `${url}/app.git`, commit: second }, folder, recordedContext());
    writeFileSync(join(folder, 'left-over'), 'x');
    await source.checkout({ url: `${url}/app.git`, commit: first }, folder, recordedContext());
    expect(existsSync(join(folder, 'left-over'))).toBe(false);
  });

  test('a host that does not give out commits by id is asked for the branch', async () => {
    const { url } = await serve({ refusesIds: true });
    const folder = target();
    const context = recordedContext();
    await source.checkout({ url: `${url}/app.git`, branch: 'main', commit: first }, folder, context);
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one');
    expect(context.lines.join('\n')).toContain('looking for it on the branch');
  });

  test('on such a host a commit is found on another branch as well', async () => {
    const { url } = await serve({ refusesIds: true });
    const folder = target();
    await source.checkout({ url: `${url}/app.git`, branch: 'main', commit: featured }, folder, recordedContext());
    expect(existsSync(join(folder, 'f.txt'))).toBe(true);
  });

  test.each([{ refusesIds: false }, { refusesIds: true }])('a commit that does not exist is named (%o)', async (behaviour) => {
    const { url } = await serve(behaviour);
    const error = await failure(source.checkout({ url: `${url}/app.git`, commit: '1'.repeat(40) }, target(), recordedContext()));
    expect(error.code).toBe('GIT_REFERENCE_NOT_FOUND');
    expect(error.message).toContain(`has no commit ${'1'.repeat(40)}`);
  });

  test('symbolic links are links, not what they point to', async () => {
    const linked = new TestRepository(join(scratch.path, 'linked.git'));
    symlinkSync('/etc/passwd', join(linked.folder, 'link'));
    const id = linked.commit('link');
    const { url } = await serve();
    const folder = target();
    await source.checkout({ url: `${url}/linked.git`, commit: id }, folder, recordedContext());
    expect(readlinkSync(join(folder, 'link'))).toBe('/etc/passwd');
  });

  test('more than the limit is refused before it is written', async () => {
    const large = new TestRepository(join(scratch.path, 'large.git'));
    // The file compresses to almost nothing, so the size of the fetch does not reveal its size.
    const id = large.commit('large', { 'large.bin': 'x'.repeat(3_000_000) });
    const { url } = await serve();
    const folder = target();
    const small = createGitSource({ maximumBytes: 2_000_000 });
    const error = await failure(small.checkout({ url: `${url}/large.git`, commit: id }, folder, recordedContext()));
    expect(error.code).toBe('GIT_TOO_LARGE');
    expect(existsSync(join(folder, 'large.bin'))).toBe(false);
  });

  test('a folder may have any name', async () => {
    const folder = join(scratch.path, String.raw`quo"te\n.git`);
    const id = new TestRepository(folder).commit('one', { a: 'a' });
    const directory = target();
    await localSource.checkout({ url: folder, commit: id }, directory, recordedContext());
    expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('a');
  });

  test('the id of a tree is no commit', async () => {
    const { url } = await serve();
    const tree = repository.git('rev-parse', `${first}^{tree}`).trim();
    const error = await failure(source.checkout({ url: `${url}/app.git`, commit: tree }, target(), recordedContext()));
    expect([error.code, error.message]).toEqual(['GIT_REFERENCE_NOT_FOUND', expect.stringContaining(`no commit ${tree}`)]);
  });

  test.each(['', 'sub/', 'ä"\n/'])(
    'files of Git LFS in %j stay pointers where git-lfs is missing, and the log says so',
    async (path) => {
      const lfs = new TestRepository(join(scratch.path, `lfs-${path.length}.git`));
      const id = lfs.commit('lfs', {
        [`${path}.gitattributes`]: '*.bin filter=lfs diff=lfs merge=lfs -text\n',
        [`${path}a.bin`]: 'version https://git-lfs.github.com/spec/v1\n',
      });
      const { url } = await serve();
      const context = recordedContext();
      // A PATH with git and without git-lfs, whatever this machine has.
      vi.stubEnv('PATH', '/nonexistent');
      const only = join(scratch.path, 'bin');
      const { mkdirSync } = await import('node:fs');
      mkdirSync(only, { recursive: true });
      if (!existsSync(join(only, 'git'))) symlinkSync('/usr/bin/git', join(only, 'git'));
      vi.stubEnv('PATH', only);
      try {
        await source.checkout({ url: `${url}/lfs-${path.length}.git`, commit: id }, target(), context);
      } finally {
        vi.unstubAllEnvs();
      }
      expect(context.lines.join('\n')).toContain('git-lfs is not installed');
    },
  );
});

describe('submodules', () => {
  const withSubmodule = (name: string, address: string): string => {
    const parent = new TestRepository(join(scratch.path, name));
    parent.commit('parent', { p: 'p' });
    parent.git('update-index', '--add', '--cacheinfo', `160000,${first},lib`);
    writeFileSync(join(parent.folder, '.gitmodules'), `[submodule "lib"]\n\tpath = lib\n\turl = ${address}\n`);
    parent.git('add', '.gitmodules');
    parent.git('commit', '--quiet', '-m', 'with a submodule');
    return parent.git('rev-parse', 'HEAD');
  };

  test.each([{ refusesIds: false }, { refusesIds: true }])(
    'are fetched at their commit, with the same credentials on the same host (%o)',
    async (behaviour) => {
      const id = withSubmodule(`parent${String(behaviour.refusesIds)}.git`, '../app.git');
      const { url } = await serve({ ...behaviour, login });
      const folder = target();
      await source.checkout(
        { url: `${url}/parent${String(behaviour.refusesIds)}.git`, commit: id, credentials },
        folder,
        recordedContext(),
      );
      expect(readFileSync(join(folder, 'lib/a.txt'), 'utf8')).toBe('one');
      expect(existsSync(join(folder, 'lib/.git'))).toBe(false);
    },
  );

  test.each(['ssh://git@127.0.0.1:22/app.git', 'git@127.0.0.1:app.git'])(
    'with an address for SSH are fetched as the repository is: %s',
    async (address) => {
      const name = `ssh${address.length}.git`;
      const id = withSubmodule(name, address);
      const { url } = await serve({ login });
      const folder = target();
      const context = recordedContext();
      await source.checkout({ url: `${url}/${name}`, commit: id, credentials }, folder, context);
      expect(readFileSync(join(folder, 'lib/a.txt'), 'utf8')).toBe('one');
      expect(context.lines.join('\n')).toContain(`are fetched from ${url}/`);
    },
  );

  test.each(['ssh2://git@127.0.0.1/app.git', 'ext::sh -c "touch /tmp/davit-pwned"', 'PLACE/app.git'])(
    'over another transport are refused: %s',
    async (address) => {
      const name = `other${address.length}.git`;
      const id = withSubmodule(name, address.replace('PLACE', scratch.path));
      const { url } = await serve();
      const error = await failure(source.checkout({ url: `${url}/${name}`, commit: id }, target(), recordedContext()));
      expect(error.code).toBe('GIT_ACCESS_DENIED');
      expect(error.message).toMatch(/transport '\w+', which is not allowed/);
      expect(existsSync('/tmp/davit-pwned')).toBe(false);
    },
  );

  test('on another host get no credentials', async () => {
    const other = await serve({ login: 'x:y' });
    const id = withSubmodule('foreign.git', `${other.url}/app.git`);
    const { url } = await serve({ login });
    const error = await failure(
      source.checkout({ url: `${url}/foreign.git`, commit: id, credentials }, target(), recordedContext()),
    );
    expect(error.code).toBe('GIT_ACCESS_DENIED');
    expect(other.requests.length).toBeGreaterThan(0);
    expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });
});

describe('access', () => {
  test('credentials open a private repository', async () => {
    const { url } = await serve({ login });
    const from = { url: `${url}/app.git`, credentials };
    expect(await source.resolve(from, recordedContext())).toBe(second);
    expect(await source.checkout({ ...from, commit: first }, target(), recordedContext())).toMatchObject({ id: first });
  });

  test('credentials in the URL work too, and appear in no message', async () => {
    const server = await serve({ login });
    const { host } = new URL(server.url);
    const url = `http://git-user:${encodeURIComponent(secret)}@${host}/app.git`;
    expect(await source.resolve({ url }, recordedContext())).toBe(second);
    const error = await failure(source.resolve({ url, branch: 'nope' }, recordedContext()));
    expect(JSON.stringify([error.message, error.hint, error.evidence])).not.toContain('canary');
    expect(error.message).toContain(`http://${host}/app.git`);
  });

  test.each([
    ['without credentials', undefined, {}],
    ['with wrong ones', { username: 'git-user', password: new Sensitive('wrong'), hosts: ['127.0.0.1'] }, {}],
    ['when the host answers 403', credentials, { status: 403 }],
    ['when the host answers 404, as hosts do for private repositories', credentials, { status: 404 }],
  ])('%s it is denied', async (_name, given, behaviour) => {
    const { url } = await serve({ login, ...behaviour });
    const error = await failure(source.resolve({ url: `${url}/app.git`, credentials: given }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_ACCESS_DENIED', false]);
  });

  test('the password is in no command line and in no file while git runs', async () => {
    const server = await serve({ isSilent: true });
    const aborter = new AbortController();
    const call = source.resolve({ url: `${server.url}/app.git`, credentials }, recordedContext(aborter.signal));
    call.catch(() => undefined);
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(0), { timeout: 10_000 });
    const running = commandLines();
    expect(running.some((line) => line.includes(`:${server.port}/app.git`))).toBe(true);
    expect(running.filter((line) => line.includes('canary'))).toEqual([]);
    const configurations = scratchFolders().map((name) => readFileSync(join(tmpdir(), name, '.gitconfig'), 'utf8'));
    expect(configurations.some((text) => text.includes(server.url))).toBe(true);
    expect(configurations.filter((text) => text.includes('canary'))).toEqual([]);
    const reason = new Error('cancelled');
    aborter.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  test('a redirect to another host is followed at first, and the password is not', async () => {
    const other = await serve({ login });
    const { url } = await serve({ redirect: other.url });
    const error = await failure(source.resolve({ url: `${url}/app.git`, credentials }, recordedContext()));
    expect(error.code).toBe('GIT_ACCESS_DENIED');
    expect(other.requests.length).toBeGreaterThan(0);
    expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });

  test('credentials with a line break, which could forge a line of git’s credential protocol, are refused', async () => {
    const server = await serve();
    const forged = { username: 'a', password: new Sensitive('b\nhost=elsewhere'), hosts: ['127.0.0.1'] };
    const error = await failure(source.resolve({ url: `${server.url}/app.git`, credentials: forged }, recordedContext()));
    expect(error.message).toContain('line break');
    expect(server.requests).toEqual([]);
  });
});

describe('hosts that cannot be reached', () => {
  test.each([
    ['a name that does not exist', 'http://does-not-exist.invalid/x.git'],
    ['a closed port', 'http://127.0.0.1:1/x.git'],
  ])('%s is unreachable, and may be there later', async (_name, url) => {
    const error = await failure(source.resolve({ url }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_UNREACHABLE', true]);
    expect(error.message).toContain(url);
  });

  test('so is a host that answers 500', async () => {
    const { url } = await serve({ status: 500 });
    const error = await failure(source.resolve({ url: `${url}/app.git` }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_UNREACHABLE', true]);
  });

  test('an address that is no repository is told apart, as waiting does not help', async () => {
    const { url } = await serve({ status: 200 });
    const error = await failure(source.resolve({ url: `${url}/app.git` }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_UNREACHABLE', false]);
  });

  test.each([
    'ssh://git@host/x.git',
    'git@host:x.git',
    'ext::sh -c id',
    'git://host/x',
    '--upload-pack=id',
    'http://h/\nx',
    'ftp://h/x',
    '',
  ])('an address of another kind is refused without starting git: %j', async (url) => {
    const error = await failure(localSource.resolve({ url }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_UNREACHABLE', false]);
  });

  test('an abort ends git and all that it started, at once, and leaves no folder', async () => {
    const server = await serve({ isSilent: true });
    const aborter = new AbortController();
    const call = source.checkout({ url: `${server.url}/app.git`, commit: first }, target(), recordedContext(aborter.signal));
    call.catch(() => undefined);
    await vi.waitFor(() => expect(server.requests.length).toBeGreaterThan(0), { timeout: 10_000 });
    expect(commandLines().filter((line) => line.includes(`:${server.port}/`)).length).toBeGreaterThan(1);
    const reason = new Error('cancelled');
    const started = Date.now();
    aborter.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(Date.now() - started).toBeLessThan(1000);
    await vi.waitFor(() => expect(commandLines().filter((line) => line.includes(`:${server.port}/`))).toEqual([]), {
      timeout: 5000,
    });
  });
});

describe('repositories of this machine', () => {
  test.each([(path: string): string => path, (path: string): string => `file://${path}`])(
    'are forbidden unless allowed',
    async (toUrl) => {
      const error = await failure(source.resolve({ url: toUrl(repository.folder) }, recordedContext()));
      expect(error.code).toBe('GIT_LOCAL_FORBIDDEN');
      expect(await localSource.resolve({ url: toUrl(repository.folder) }, recordedContext())).toBe(second);
    },
  );

  test('may belong to another user', async ({ skip }) => {
    if (process.getuid?.() !== 0) skip();
    const foreign = new TestRepository(join(scratch.path, 'foreign-owner.git'));
    const id = foreign.commit('mine', { a: 'a' });
    for (const path of ['', '.git', '.git/HEAD', '.git/config']) chownSync(join(foreign.folder, path), 65_534, 65_534);
    const folder = target();
    await localSource.checkout({ url: foreign.folder, commit: id }, folder, recordedContext());
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('a');
  });

  test('a path without a repository says so', async () => {
    const error = await failure(localSource.resolve({ url: '/nonexistent/repository' }, recordedContext()));
    expect([error.code, error.retryable]).toEqual(['GIT_UNREACHABLE', false]);
    expect(error.message).toContain('There is no git repository at file:///nonexistent/repository');
  });

  test('hooks of a repository and settings of the user do not run', async () => {
    const hooked = new TestRepository(join(scratch.path, 'hooked.git'));
    const id = hooked.commit('hooked', { '.gitattributes': '* filter=evil\n', a: 'a' });
    const home = scratchFolder();
    const proof = join(home.path, 'ran');
    writeFileSync(
      join(home.path, '.gitconfig'),
      `[filter "evil"]\n\tsmudge = touch ${proof}; cat\n[core]\n\thooksPath = ${home.path}\n`,
    );
    writeFileSync(join(home.path, 'post-checkout'), `#!/bin/sh\ntouch ${proof}\n`, { mode: 0o755 });
    vi.stubEnv('HOME', home.path);
    try {
      await localSource.checkout({ url: hooked.folder, commit: id }, target(), recordedContext());
      expect(existsSync(proof)).toBe(false);
    } finally {
      vi.unstubAllEnvs();
      home.remove();
    }
  });
});

describe('trees', () => {
  test('a folder has the same tree in all commits that leave it alone, and another one after a change', async () => {
    const { url } = await serve();
    const treeOf = (commit: string, path: string): Promise<string | null> =>
      source.treeOf({ url: `${url}/app.git`, commit }, path, recordedContext());
    expect(await treeOf(first, '/web')).toBe(await treeOf(second, 'web/'));
    expect(await treeOf(first, '/')).not.toBe(await treeOf(second, '/'));
    expect(await treeOf(second, '/')).toBe(repository.git('rev-parse', `${second}^{tree}`));
  });

  test('a folder that is not there, and a file, have none', async () => {
    const { url } = await serve();
    expect(await source.treeOf({ url: `${url}/app.git`, commit: first }, '/nope', recordedContext())).toBeNull();
    expect(await source.treeOf({ url: `${url}/app.git`, commit: first }, '/a.txt', recordedContext())).toBeNull();
  });
});

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((id) => {
      try {
        return readFileSync(`/proc/${id}/cmdline`, 'utf8');
      } catch {
        return ''; // The process has exited meanwhile.
      }
    });
}

function scratchFolders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('davit-git-') && existsSync(join(tmpdir(), name, '.gitconfig')));
}
