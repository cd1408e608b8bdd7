import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  chmodSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Sensitive } from '@davit/base';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createGitSource, type GitSourceDriver } from './git-source.ts';
import { recordedContext, scratchFolder, startGitServer, TestRepository, type GitServer } from './testing.ts';

// Uses the real git on both sides: `git http-backend` serves on loopback.
const scratch = scratchFolder();
const sizeBytes = 2_000_000;
const smallBytes = 20_000;
const commits: string[] = [];
let repository: TestRepository;
let server: GitServer;
let keptFolder: string;
let source: GitSourceDriver;
const [ours, theirs] = [randomUUID(), randomUUID()];

beforeAll(async () => {
  repository = new TestRepository(join(scratch.path, 'app.git'));
  const large = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [`large/${at}`, randomBytes(sizeBytes / 20).toString('hex')]),
  );
  for (const [line, files] of [
    ['one', large],
    ['two', {}],
    ['three', {}],
  ] as const)
    commits.push(repository.commit(line, { ...files, 'line.txt': line }));
  server = await startGitServer(scratch.path);
  begin();
});
afterEach(() => {
  for (const name of Object.keys(server.behaviour)) Reflect.deleteProperty(server.behaviour, name);
  begin();
});
afterAll(async () => {
  await server.close();
  scratch.remove();
});

/** Starts with nothing kept. */
function begin(maximumBytes = 10 * sizeBytes): void {
  keptFolder = join(scratch.path, `kept-${randomUUID()}`);
  source = createGitSource({ kept: { folder: keptFolder, maximumBytes } });
}

const urlOf = (name = 'app.git'): string => `${server.url}/${name}`;
const target = (): string => join(scratch.path, `out-${randomUUID()}`);

interface Wanted {
  readonly organization?: string;
  readonly url?: string;
  readonly credentials?: { readonly username: string; readonly password: Sensitive; readonly hosts: readonly string[] };
}

/** Checks a commit out; returns the text of its line, what the server sent, and the log. */
async function checkout(commit: string | undefined, wanted: Wanted = {}) {
  const folder = target();
  const before = server.sent.bytes;
  const context = recordedContext();
  const from = { url: urlOf(), branch: 'main', organization: ours, ...wanted, commit: commit ?? '' };
  const { id } = await source.checkout(from, folder, context);
  expect(id).toBe(commit);
  expect(readdirSync(folder)).not.toContain('.git');
  return {
    line: readFileSync(join(folder, 'line.txt'), 'utf8'),
    bytes: server.sent.bytes - before,
    lines: context.lines,
    folder,
  };
}

function keptFiles(extension: string): string[] {
  const names = existsSync(keptFolder) ? readdirSync(keptFolder, { recursive: true, encoding: 'utf8' }) : [];
  return names.filter((name) => name.endsWith(extension)).map((name) => join(keptFolder, name));
}

const keptBytes = (): number => keptFiles('.pack').reduce((sum, path) => sum + statSync(path).size, 0);

describe('a fetch costs what changed', () => {
  test('the next commit, an earlier one and the same one again', async () => {
    expect((await checkout(commits[0])).bytes).toBeGreaterThan(sizeBytes);
    const next = await checkout(commits[1]);
    expect([next.line, next.bytes < smallBytes]).toEqual(['two', true]);
    expect(readFileSync(join(next.folder, 'large/7'), 'utf8')).toBe(readFileSync(join(repository.folder, 'large/7'), 'utf8'));
    const again = await checkout(commits[0]);
    expect([again.line, again.bytes < smallBytes]).toEqual(['one', true]);
    expect((await checkout(commits[0])).bytes).toBeLessThan(smallBytes);
  });

  test('services of one repository that are deployed together fetch it once', async () => {
    const before = server.sent.bytes;
    await Promise.all([0, 1, 2, 0].map((at) => checkout(commits[at])));
    expect(server.sent.bytes - before).toBeLessThan(2 * sizeBytes);
  });

  test('nothing is kept without an organization', async () => {
    const from = { url: urlOf(), commit: commits[0] ?? '' };
    await source.checkout(from, target(), recordedContext());
    expect(existsSync(keptFolder)).toBe(false);
  });
});

describe('the newest commit of a branch', { timeout: 120_000 }, () => {
  const branch = () => ({ url: urlOf(), branch: 'main', organization: ours });

  test('is fetched as it is resolved, and checked out without the host', async () => {
    await checkout(commits[0]);
    repository.git('tag', '--annotate', '--message=x', 'v3');
    try {
      const folder = target();
      const [before, requested] = [server.sent.bytes, server.requests.length];
      expect(await source.resolve(branch(), recordedContext(), folder)).toBe(commits[2]);
      expect(server.sent.bytes - before).toBeLessThan(smallBytes);
      expect(server.requests.length - requested).toBeLessThan(5);
      server.behaviour.status = 500;
      const made = await source.checkout({ ...branch(), commit: commits[2] ?? '' }, folder, recordedContext());
      expect(made).toMatchObject({ id: commits[2], message: 'three', authorName: 'Ada', tag: 'v3' });
      expect(readFileSync(join(folder, 'line.txt'), 'utf8')).toBe('three');
      expect(readdirSync(folder)).not.toContain('.git');
      expect(keptFiles('state.json').map((path) => readFileSync(path, 'utf8'))).toEqual([
        expect.stringContaining(commits[2] ?? ''),
      ]);
      // A second checkout begins anew, and what was fetched to one folder is not used in another one.
      for (const each of [folder, target()])
        await expect(source.checkout({ ...branch(), commit: commits[2] ?? '' }, each, recordedContext())).rejects.toMatchObject({
          code: 'GIT_UNREACHABLE',
        });
    } finally {
      repository.git('tag', '--delete', 'v3');
    }
  });

  test('is fetched by its id with its tags in one command, as is a commit that the branch has left behind', async () => {
    await checkout(commits[0]);
    repository.git('tag', 'v4', commits[1] ?? '');
    try {
      for (const [at, tag] of [
        [2, ''],
        [1, 'v4'],
      ] as const) {
        const before = server.requests.length;
        const from = { ...branch(), commit: commits[at] ?? '' };
        expect(await source.checkout(from, target(), recordedContext())).toMatchObject({ id: commits[at], tag });
        expect(server.requests.length - before).toBeLessThan(5);
      }
      const from = { ...branch(), branch: 'gone', commit: commits[1] ?? '' };
      expect(await source.checkout(from, target(), recordedContext())).toMatchObject({ id: commits[1], tag: 'v4' });
    } finally {
      repository.git('tag', '--delete', 'v4');
    }
  });

  test('is only resolved as long as nothing is kept, and for a commit that is named', async () => {
    const folder = target();
    const before = server.sent.bytes;
    expect(await source.resolve(branch(), recordedContext(), folder)).toBe(commits[2]);
    expect(await source.resolve({ ...branch(), commit: commits[1] ?? '' }, recordedContext(), folder)).toBe(commits[1]);
    expect(server.sent.bytes - before).toBeLessThan(smallBytes);
    await checkout(commits[0]);
    // The default branch, without its name.
    expect(await source.resolve({ url: urlOf(), organization: ours }, recordedContext(), folder)).toBe(commits[2]);
  });

  test('is fetched again if the folder is damaged in between', async () => {
    await checkout(commits[0]);
    for (const harm of [
      (folder: string) => rmSync(join(folder, '.git/objects'), { recursive: true }),
      (folder: string) => writeFileSync(join(folder, '.git/index.lock'), ''),
    ]) {
      const folder = target();
      await source.resolve(branch(), recordedContext(), folder);
      harm(folder);
      await source.checkout({ ...branch(), commit: commits[2] ?? '' }, folder, recordedContext());
      expect(readFileSync(join(folder, 'line.txt'), 'utf8')).toBe('three');
    }
  });

  test('of a branch that is not there, or a host that refuses, fails with the cause', async () => {
    await checkout(commits[0]);
    const missing = source.resolve({ ...branch(), branch: 'nope' }, recordedContext(), target());
    await expect(missing).rejects.toMatchObject({
      code: 'GIT_REFERENCE_NOT_FOUND',
      message: expect.stringContaining('Its branches: main'),
    });
    server.behaviour.login = 'git:sesame';
    const denied = source.resolve(branch(), recordedContext(), target());
    await expect(denied).rejects.toMatchObject({ code: 'GIT_ACCESS_DENIED' });
    delete server.behaviour.login;
    server.behaviour.status = 500;
    const before = server.requests.length;
    await expect(source.resolve(branch(), recordedContext(), target())).rejects.toMatchObject({ code: 'GIT_UNREACHABLE' });
    expect(server.requests.length - before).toBe(1);
  });
});

describe('who may read', () => {
  const login = 'git:sesame';
  const credentials = { username: 'git', password: new Sensitive('sesame'), hosts: ['127.0.0.1'] };

  test('organizations share nothing', async () => {
    await checkout(commits[0], { organization: theirs });
    expect((await checkout(commits[1], { organization: ours })).bytes).toBeGreaterThan(sizeBytes);
  });

  test('a commit that is kept is asked for with the credentials of each checkout', async () => {
    server.behaviour.login = login;
    await checkout(commits[0], { credentials });
    for (const organization of [ours, theirs]) {
      await expect(checkout(commits[0], { organization })).rejects.toMatchObject({ code: 'GIT_ACCESS_DENIED' });
      const wrong = { ...credentials, password: new Sensitive('wrong') };
      await expect(checkout(commits[0], { organization, credentials: wrong })).rejects.toMatchObject({
        code: 'GIT_ACCESS_DENIED',
      });
    }
    expect((await checkout(commits[1], { credentials })).bytes).toBeLessThan(smallBytes);
  });

  test('a kept commit that the host no longer gives out is not found', async () => {
    const other = new TestRepository(join(scratch.path, 'secret.git'));
    other.commit('open', { 'line.txt': 'open' });
    other.git('checkout', '--quiet', '-b', 'hidden');
    const hidden = other.commit('hidden', { 'line.txt': 'hidden' });
    other.git('checkout', '--quiet', 'main');
    await checkout(hidden, { url: urlOf('secret.git') });
    other.git('branch', '-D', 'hidden');
    server.behaviour.refusesIds = true;
    const denied = checkout(hidden, { url: urlOf('secret.git') });
    await expect(denied).rejects.toMatchObject({ code: 'GIT_REFERENCE_NOT_FOUND' });
  });

  test('neither credentials nor URLs are on the disk', async () => {
    server.behaviour.login = login;
    await checkout(commits[0], { credentials });
    const texts = readdirSync(keptFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith('pack-'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(texts).not.toEqual([]);
    expect(texts.filter((text) => /sesame|127\.0\.0\.1/.test(text))).toEqual([]);
  });
});

describe('damaged objects fail no checkout', { timeout: 120_000 }, () => {
  const damage: [string, (path: string) => void][] = [
    ['a truncated pack', (path) => truncateSync(path, 10_000)],
    ['an empty pack', (path) => truncateSync(path, 0)],
    ['a pack that is gone', (path) => rmSync(path)],
    ['an index that is gone', (path) => rmSync(path.replace('.pack', '.idx'))],
    [
      'a pack with other content',
      (path) => {
        const content = readFileSync(path);
        content.fill(7, 200, content.length - 100);
        writeFileSync(path, content);
      },
    ],
    ['a state that is no JSON', () => keptFiles('state.json').forEach((path) => writeFileSync(path, '{'))],
    [
      'a state of another form',
      () => keptFiles('state.json').forEach((path) => writeFileSync(path, '{"commits":["x"],"packs":[]}')),
    ],
  ];
  test.each(damage)('%s', async (_what, harm) => {
    await checkout(commits[0]);
    const [pack = ''] = keptFiles('.pack');
    chmodSync(pack, 0o600);
    harm(pack);
    const next = await checkout(commits[1]);
    expect(next.line).toBe('two');
    expect(readFileSync(join(next.folder, 'large/7'), 'utf8')).toBe(readFileSync(join(repository.folder, 'large/7'), 'utf8'));
    expect((await checkout(commits[2])).bytes).toBeLessThan(smallBytes);
  });

  test('an unreachable host is not taken for damage', async () => {
    await checkout(commits[0]);
    server.behaviour.status = 500;
    const before = server.requests.length;
    await expect(checkout(commits[1])).rejects.toMatchObject({ code: 'GIT_UNREACHABLE' });
    expect(server.requests.length - before).toBeLessThan(4);
    delete server.behaviour.status;
    expect((await checkout(commits[1])).bytes).toBeLessThan(smallBytes);
  });

  test('a folder that cannot be written', async () => {
    writeFileSync(keptFolder, 'a file');
    const made = await checkout(commits[0]);
    expect(made.line).toBe('one');
    expect(made.lines.join('\n')).toContain('could not be kept');
  });
});

describe('a process that is killed', { timeout: 120_000 }, () => {
  const program = fileURLToPath(new URL('testing/checkout-program.ts', import.meta.url));
  const start = (commit = ''): ChildProcess =>
    spawn(process.execPath, [program, keptFolder, target(), urlOf(), commit, ours], { stdio: 'ignore', detached: true });
  const ended = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  };

  const moments: [string, () => boolean][] = [
    ['as the host is asked', () => server.requests.length > 0],
    ['as a part of the pack has arrived', () => server.sent.bytes > sizeBytes / 2],
    ['as the objects are being kept', () => keptFiles('.idx').length > 0],
    ['as they are kept', () => keptFiles('state.json').length > 0],
  ];
  test.each(moments)('%s leaves what the next one uses', async (_when, isThere) => {
    server.requests.length = 0;
    server.sent.bytes = 0;
    const child = start(commits[0]);
    await vi.waitFor(() => expect(isThere()).toBe(true), { timeout: 30_000, interval: 1 });
    child.kill('SIGKILL');
    await ended(child);
    expect((await checkout(commits[1])).line).toBe('two');
    expect((await checkout(commits[2])).bytes).toBeLessThan(smallBytes);
  });

  test('during a fetch holds up no other', async () => {
    server.behaviour.stopsAfterBytes = sizeBytes / 2;
    const before = server.sent.bytes;
    const child = start(commits[0]);
    await vi.waitFor(() => expect(server.sent.bytes - before).toBeGreaterThan(sizeBytes / 2), { timeout: 30_000 });
    child.kill('SIGKILL');
    await ended(child);
    delete server.behaviour.stopsAfterBytes;
    expect(readdirSync(join(keptFolder, ours)).some((name) => name.endsWith('.fetch.lock'))).toBe(true);
    expect((await checkout(commits[0])).line).toBe('one');
  });
});

describe('what is kept is bounded', { timeout: 120_000 }, () => {
  const tidy = (): Promise<void> | undefined => source.kept?.tidy(new AbortController().signal);

  test('many deployments become one pack, without objects that no kept commit needs', async () => {
    const growing = new TestRepository(join(scratch.path, `growing-${randomUUID()}.git`));
    const url = urlOf(growing.folder.slice(scratch.path.length + 1));
    let last = '';
    for (let at = 0; at < 12; at += 1) {
      last = growing.commit(`${at}`, { 'line.txt': `${at}`, 'blob.bin': randomBytes(50_000).toString('hex') });
      await checkout(last, { url });
    }
    const before = keptBytes();
    expect(keptFiles('.pack')).toHaveLength(12);
    writeFileSync(join(keptFiles('state.json')[0] ?? '', '..', 'pack-left.idx'), 'x');
    await tidy();
    expect(keptFiles('.pack')).toHaveLength(1);
    expect(keptFiles('pack-left.idx')).toEqual([]);
    expect(keptBytes()).toBeLessThan(before * 0.9);
    const next = growing.commit('next', { 'line.txt': 'next' });
    expect((await checkout(next, { url })).bytes).toBeLessThan(smallBytes);
    expect((await checkout(last, { url })).bytes).toBeLessThan(smallBytes);
  });

  test('the repository that was not used for the longest time goes first', async () => {
    begin(sizeBytes * 1.5);
    const other = new TestRepository(join(scratch.path, `other-${randomUUID()}.git`));
    const id = other.commit('other', { 'line.txt': 'other', 'blob.bin': randomBytes(sizeBytes).toString('hex') });
    await checkout(commits[0]);
    for (const path of keptFiles('state.json')) utimesSync(path, 1_000, Date.now() / 1000 - 3_600);
    await checkout(id, { url: urlOf(other.folder.slice(scratch.path.length + 1)) });
    await tidy();
    expect(keptFiles('state.json')).toHaveLength(1);
    expect((await checkout(commits[1])).bytes).toBeGreaterThan(sizeBytes);
  });

  test('what was unused for 30 days goes, and the objects of an organization that is forgotten', async () => {
    await checkout(commits[0]);
    await checkout(commits[0], { organization: theirs });
    expect((await source.kept?.organizations())?.toSorted()).toEqual([ours, theirs].toSorted());
    const both = (await source.kept?.bytes()) ?? 0;
    await source.kept?.forget(theirs);
    expect(await source.kept?.organizations()).toEqual([ours]);
    const one = (await source.kept?.bytes()) ?? 0;
    expect(one).toBeGreaterThan(0);
    expect(both).toBeGreaterThan(one);
    for (const path of keptFiles('state.json')) utimesSync(path, 1_000, Date.now() / 1000 - 31 * 86_400);
    await tidy();
    expect(await source.kept?.organizations()).toEqual([]);
  });
});
