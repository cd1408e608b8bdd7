import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { Sensitive } from '@davit/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGitSource } from './git-source.ts';
import type { MayReach } from './git-proxy.ts';
import { recordedContext, scratchFolder, startGitServer, TestRepository, type GitServer } from './testing.ts';

/* Hosts that attack this machine: its processes, its memory, its disk, and the hosts it can reach. */

const scratch = scratchFolder();
const repository = new TestRepository(join(scratch.path, 'shop'));
let tip = '';
let smart: GitServer;
let files: { readonly url: string; readonly server: Server };

/** Serves files as any web server does. */
async function startFileServer(root: string): Promise<typeof files> {
  const server = createServer((request, response) => {
    try {
      const path = new URL(request.url ?? '/', 'http://localhost').pathname;
      response.end(readFileSync(join(root, path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `http://127.0.0.1:${address.port}`, server };
}

/** Returns the highest number of simultaneous descendants of this process during the action. */
async function maxProcesses(action: Promise<unknown>): Promise<number> {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, descendants());
  }, 20);
  await action.finally(() => clearInterval(timer));
  return most;
}

function descendants(): number {
  const parents = new Map<string, string>();
  for (const id of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const status = readFileSync(`/proc/${id}/stat`, 'utf8');
      const isGit = /^\d+ \(git/.test(status);
      const [, parent = ''] = status.slice(status.lastIndexOf(')') + 2).split(' ');
      if (isGit || parent === String(process.pid)) parents.set(id, parent);
    } catch {
      // The process has exited meanwhile.
    }
  }
  const isBelow = (id: string | undefined): boolean =>
    id !== undefined && (id === String(process.pid) || isBelow(parents.get(id)));
  return [...parents.keys()].filter((id) => isBelow(parents.get(id))).length;
}

beforeAll(async () => {
  tip = repository.commit('first', { 'web/index.html': 'one' });
  repository.commit('second', { 'web/index.html': 'two' });
  const dumb = join(scratch.path, 'dumb.git');
  execFileSync('git', ['clone', '--quiet', '--bare', repository.folder, dumb]);
  execFileSync('git', ['-C', dumb, 'update-server-info']);
  mkdirSync(join(scratch.path, 'empty'));
  files = await startFileServer(scratch.path);
  smart = await startGitServer(scratch.path);
});
afterAll(async () => {
  files.server.closeAllConnections();
  files.server.close();
  await smart.close();
  scratch.remove();
});

describe('a host that only gives out files', () => {
  const git = createGitSource();
  const missing = 'f'.repeat(40);
  const source = () => ({ url: `${files.url}/dumb.git`, branch: 'main' });
  test.each([
    ['a checkout', (folder: string) => git.checkout({ ...source(), commit: tip }, folder, recordedContext())],
    [
      'a checkout of what is not there',
      (folder: string) => git.checkout({ ...source(), commit: missing }, folder, recordedContext()),
    ],
    ['files', () => git.files({ ...source(), commit: tip }, { rootPath: 'web', paths: ['index.html'] }, recordedContext())],
    ['a tree', () => git.treeOf({ ...source(), commit: missing }, '/', recordedContext())],
    ['history', () => git.history(source(), 20, recordedContext())],
    ['changes', () => git.changes(source(), { base: tip, head: missing, sinceParting: true }, recordedContext())],
    ['an abbreviated commit', () => git.resolve({ ...source(), commit: 'abcdef1' }, recordedContext())],
  ])('is refused with its cause by %s, with a handful of processes', async (what, action) => {
    const requested = action(join(scratch.path, `folder of ${what}`));
    const refusal = requested.then(
      () => null,
      (error: unknown) => error,
    );
    expect(await maxProcesses(refusal)).toBeLessThan(12);
    expect(await refusal).toMatchObject({
      code: 'GIT_UNREACHABLE',
      message: expect.stringContaining('only serves the "dumb" HTTP protocol'),
      hint: expect.stringContaining('git http-backend'),
    });
  });
});

describe('what a git command may take', () => {
  const slow = (limits: object) => createGitSource({ limits });
  test.each([
    ['processes', { processes: 0 }, 'exceeded its limit of processes'],
    ['memory', { memoryBytes: 1024 }, 'exceeded its memory limit'],
    ['time', { milliseconds: 300 }, 'exceeded its time limit'],
  ])('%s is limited, and what goes over it is ended', async (_what, limits, words) => {
    smart.behaviour.isSilent = true;
    try {
      const requested = slow(limits).heads({ url: `${smart.url}/shop/.git` }, recordedContext());
      await expect(requested).rejects.toMatchObject({ code: 'GIT_TOO_LARGE', message: expect.stringContaining(words) });
      await expect.poll(() => descendants()).toBe(0);
    } finally {
      smart.behaviour.isSilent = false;
    }
  });
});

describe('addresses that git may not reach', () => {
  const requested: string[] = [];
  const mayReach: MayReach = (address, host) => {
    requested.push(address);
    return host === 'localhost';
  };
  const git = createGitSource({ mayReach });
  const at = (host: string, port: number): string => `http://${host}:${port}/shop/.git`;

  test('are refused with the same words, whether anything is there or not', async () => {
    const words = async (url: string): Promise<string> => {
      const failure: unknown = await git.heads({ url }, recordedContext()).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'GIT_UNREACHABLE' });
      return (failure instanceof Error ? failure.message : '').replaceAll(/https?:\S+/g, 'URL');
    };
    const before = smart.requests.length;
    const open = await words(at('127.0.0.1', smart.port));
    expect(open).toContain('which is not a public address and is not allowed');
    expect(await words(at('127.0.0.1', 9))).toBe(open);
    expect(await words(at('127.1', 22))).toBe(open);
    expect(await words(at('0x7f000001', 22))).toBe(open);
    expect(await words(`https://127.0.0.1:${smart.port}/x`)).toBe(open);
    expect(smart.requests).toHaveLength(before);
  });

  test('and those that it may are reached, by commit, files and history', async () => {
    const source = { url: at('localhost', smart.port), branch: 'main' };
    const folder = join(scratch.path, 'allowed');
    expect(await git.checkout({ ...source, commit: tip }, folder, recordedContext())).toMatchObject({ id: tip });
    expect(await git.files({ ...source, commit: tip }, { rootPath: 'web', paths: ['index.html'] }, recordedContext())).toEqual([
      'one',
    ]);
    expect(await git.history(source, 5, recordedContext())).toHaveLength(2);
    expect(requested).toContain('127.0.0.1');
  });

  test('are not reached by a redirect', async () => {
    const redirecting = await startGitServer(scratch.path, { redirect: `http://127.0.0.1:${smart.port}` });
    const before = smart.requests.length;
    await expect(git.heads({ url: at('localhost', redirecting.port) }, recordedContext())).rejects.toMatchObject({
      message: expect.stringContaining('leads to 127.0.0.1, which is not a public address'),
    });
    expect(smart.requests).toHaveLength(before);
    await redirecting.close();
  });

  test('nor by a submodule', async () => {
    const outer = new TestRepository(join(scratch.path, 'outer'));
    mkdirSync(join(outer.folder, 'inner'));
    outer.git('-c', 'protocol.http.allow=always', 'update-index', '--add', '--cacheinfo', `160000,${tip},inner`);
    const commit = outer.commit('with a submodule', {
      '.gitmodules': `[submodule "inner"]\n\tpath = inner\n\turl = ${at('127.0.0.1', smart.port)}\n`,
    });
    const before = smart.requests.filter(({ path }) => path.startsWith('/shop')).length;
    const asking = git.checkout(
      { url: `http://localhost:${smart.port}/outer/.git`, commit },
      join(scratch.path, 'with-submodule'),
      recordedContext(),
    );
    await expect(asking).rejects.toMatchObject({ message: expect.stringContaining('leads to 127.0.0.1') });
    expect(smart.requests.filter(({ path }) => path.startsWith('/shop'))).toHaveLength(before);
  });
});

describe('credentials', () => {
  test('are never sent over plain http, but where the operator lets them', async () => {
    const login = 'git:sesame';
    const locked = await startGitServer(scratch.path, { login });
    const credentials = { username: 'git', password: new Sensitive('sesame'), hosts: ['127.0.0.1'] };
    const source = { url: `${locked.url}/shop/.git`, credentials };
    const careful = createGitSource({ mayReadPlainly: () => false });
    await expect(careful.heads(source, recordedContext())).rejects.toMatchObject({
      code: 'GIT_ACCESS_DENIED',
      message: expect.stringContaining('plain http'),
    });
    expect(locked.requests).toEqual([]);
    const allowing = createGitSource({ mayReadPlainly: (address) => address === '127.0.0.1' });
    expect((await allowing.heads(source, recordedContext())).defaultBranch).toBe('main');
    await locked.close();
  });
});

test('a repository whose host has lost an object is called damaged, and is not asked again and again', async () => {
  const damaged = join(scratch.path, 'damaged.git');
  execFileSync('git', ['clone', '--quiet', '--bare', '--no-hardlinks', repository.folder, damaged]);
  execFileSync('sh', ['-c', 'for pack in objects/pack/*.pack; do git unpack-objects --quiet <"$pack"; done; true'], {
    cwd: damaged,
  });
  const lost = execFileSync('git', ['-C', damaged, 'rev-parse', `${tip}:web/index.html`], { encoding: 'utf8' }).trim();
  rmSync(join(damaged, 'objects', lost.slice(0, 2), lost.slice(2)), { force: true });
  const source = { url: `${smart.url}/damaged.git`, branch: 'main', commit: tip };
  const refusal = createGitSource().checkout(source, join(scratch.path, 'folder of the damaged'), recordedContext());
  await expect(refusal).rejects.toMatchObject({
    code: 'GIT_UNREACHABLE',
    retryable: false,
    message: expect.stringContaining('damaged.git is damaged'),
    hint: expect.stringContaining('git fsck'),
  });
});

describe('a repository that was pushed to this installation', () => {
  const folder = join(scratch.path, 'own');
  const id = '0b9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a11';
  const other = '1c9d2bfc-4b4e-4b8f-9d6b-0d8b3f1c2a12';
  const refused: MayReach = () => false;

  /** Makes a repository of this installation whose submodule has this URL. */
  function withSubmodule(name: string, url: string): void {
    const path = join(folder, `${name}.git`);
    rmSync(path, { recursive: true, force: true });
    const pushed = new TestRepository(path);
    pushed.commit('first', { '.gitmodules': `[submodule "stolen"]\n\tpath = stolen\n\turl = ${url}\n` });
    pushed.git('update-index', '--add', '--cacheinfo', `160000,${tip},stolen`);
    pushed.git('-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '--quiet', '--message', 'submodule');
  }

  test.each([
    ['a folder of this machine', () => `file://${join(scratch.path, 'shop')}`],
    ['the repository of somebody else', () => `../${other}.git`],
    ['a private address', () => `${smart.url}/shop`],
  ])('has no submodule from %s', async (_name, url) => {
    mkdirSync(folder, { recursive: true });
    withSubmodule(other, 'https://git.example.org/none');
    withSubmodule(id, url());
    const source = createGitSource({ ownRepositories: folder, mayReach: refused });
    const context = recordedContext();
    const directory = join(scratch.path, 'checkout-own');
    const commit = await source.resolve({ url: `davit:${id}` }, context);
    await expect(source.checkout({ url: `davit:${id}`, commit }, directory, context)).rejects.toMatchObject({
      name: 'DriverError',
    });
    expect(context.lines.join('\n')).not.toContain(folder);
  });
});
