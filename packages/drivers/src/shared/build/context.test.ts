import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openContext, packContext } from './context.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'davit-context-test-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

const at = (rootPath = '/', dockerfilePath = 'Dockerfile'): ReturnType<typeof openContext> =>
  openContext({ directory: folder, rootPath, dockerfilePath });

async function names(rootPath = '/', dockerfilePath = 'Dockerfile'): Promise<string[]> {
  const archive = extract();
  Readable.from([await buffer(packContext(await at(rootPath, dockerfilePath)))]).pipe(archive);
  const found: string[] = [];
  for await (const entry of archive) {
    found.push(entry.header.type === 'symlink' ? `${entry.header.name} -> ${entry.header.linkname}` : entry.header.name);
    entry.resume();
  }
  return found;
}

test('a Dockerfile that is larger than 10 MB is not read', async () => {
  write({ 'web/Dockerfile': '' });
  truncateSync(join(folder, 'web/Dockerfile'), 10_000_001);
  await expect(at('/', 'web/Dockerfile')).rejects.toMatchObject({
    code: 'DOCKERFILE_INVALID',
    message: 'web/Dockerfile is larger than 10 MB.',
  });
});

describe('what is sent', () => {
  test('is all of the folder, in a fixed order, links as links', async () => {
    write({ Dockerfile: 'FROM scratch', 'b/c': '1', a: '', '.hidden': 'h' });
    symlinkSync('/etc', join(folder, 'etc'));
    expect(await names()).toEqual(['.hidden', 'Dockerfile', 'a', 'b/', 'b/c', 'etc -> /etc']);
  });

  test('is the same bytes whenever it was checked out, so that caches hit', async () => {
    write({ Dockerfile: 'FROM scratch', 'x/run': 'x' });
    chmodSync(join(folder, 'x/run'), 0o755);
    const before = await buffer(packContext(await at()));
    utimesSync(join(folder, 'x/run'), 1, 1);
    chmodSync(join(folder, 'x/run'), 0o700);
    expect((await buffer(packContext(await at()))).equals(before)).toBe(true);
    chmodSync(join(folder, 'x/run'), 0o644);
    expect((await buffer(packContext(await at()))).equals(before)).toBe(false);
  });

  test('has the time of its commit, so that browsers fetch changed files again, within what archives can contain', async () => {
    write({ Dockerfile: 'FROM scratch', 'web/index.html': 'x' });
    const times = async (committedAt?: string): Promise<Set<string>> => {
      const source = { directory: folder, rootPath: '/', dockerfilePath: 'Dockerfile' };
      const archive = packContext(await openContext({ ...source, ...(committedAt && { committedAt }) })).pipe(extract());
      const found = new Set<string>();
      for await (const entry of archive) {
        found.add(entry.header.mtime?.toISOString() ?? '');
        entry.resume();
      }
      return found;
    };
    expect(await times('2026-11-24T10:20:30+02:00')).toEqual(new Set(['2026-11-24T08:20:30.000Z']));
    for (const early of [undefined, 'no time', '1970-01-01T00:00:00Z']) {
      expect(await times(early)).toEqual(new Set(['2000-01-01T00:00:00.000Z']));
    }
    expect(await times('9999-12-31T23:59:59Z')).toEqual(new Set(['2038-01-19T03:14:07.000Z']));
  });

  test('is understood by tar, long paths and large files included', async () => {
    const long = `${'long-folder-name/'.repeat(12)}file`;
    write({ Dockerfile: 'FROM scratch', [long]: 'x'.repeat(300_000) });
    const listing = execFileSync('tar', ['-tvf', '-'], { input: await buffer(packContext(await at())), encoding: 'utf8' });
    expect(listing).toContain(`300000 2000-01-01 `);
    expect(listing).toContain(long);
  });

  test('a .dockerignore leaves out, with exceptions, and never the Dockerfile', async () => {
    write({
      '.dockerignore': '# comment\nnode_modules\n**/*.log\nDockerfile\nsecret/*\n!secret/public\nweb\n!web/keep/this\n',
      Dockerfile: 'FROM scratch',
      'node_modules/x/y.js': '',
      'src/a.log': '',
      'src/a.ts': '',
      'secret/key': '',
      'secret/public': '',
      'web/drop': '',
      'web/keep/this': '',
    });
    const sent = await names();
    expect(sent.filter((name) => !name.endsWith('/'))).toEqual([
      '.dockerignore',
      'Dockerfile',
      'secret/public',
      'src/a.ts',
      'web/keep/this',
    ]);
  });

  test('a Dockerfile in a folder that is left out is sent all the same', async () => {
    write({ '.dockerignore': 'docker\n', 'docker/Dockerfile': 'FROM scratch', 'docker/other': '', a: '' });
    expect(await names('/', 'docker/Dockerfile')).toEqual(['.dockerignore', 'a', 'docker/Dockerfile']);
  });

  test('a .dockerignore of the Dockerfile’s own stands before the general one', async () => {
    write({ '.dockerignore': 'a\n', 'Dockerfile.dockerignore': 'b\n', Dockerfile: 'FROM scratch', a: '', b: '' });
    expect(await names()).toEqual(['Dockerfile', 'Dockerfile.dockerignore', 'a']);
  });
});

describe('where it is', () => {
  test('a root path is the context, and paths of the Dockerfile start there', async () => {
    write({ 'api/Dockerfile': 'FROM scratch', 'api/x': '', 'web/y': '' });
    expect(await names('/api/', './Dockerfile')).toEqual(['Dockerfile', 'x']);
  });

  test('a root path that is not there is named with the folders that are', async () => {
    write({ 'api/Dockerfile': '', file: '' });
    await expect(at('/nope')).rejects.toMatchObject({
      code: 'BUILD_ROOT_MISSING',
      message: expect.stringContaining('Its folders: api.'),
    });
    await expect(at('/file')).rejects.toMatchObject({
      code: 'BUILD_ROOT_MISSING',
      message: expect.stringContaining('is a file'),
    });
  });

  test('a root path never points outside the repository, by dots or by a link', async () => {
    write({ Dockerfile: '' });
    symlinkSync('/etc', join(folder, 'out'));
    await expect(at('/out')).rejects.toMatchObject({
      code: 'BUILD_ROOT_MISSING',
      message: expect.stringContaining('points outside the repository'),
    });
    await expect(at('/../../etc')).rejects.toMatchObject({ code: 'BUILD_ROOT_MISSING' });
  });

  test('a Dockerfile that is missing is named with those that the repository has', async () => {
    write({ 'docker/Dockerfile.prod': '', 'web/Containerfile': '', 'node_modules/x/Dockerfile': '' });
    await expect(at()).rejects.toMatchObject({
      code: 'DOCKERFILE_MISSING',
      message:
        'Dockerfile is not there (looked for in the folder / of the repository). The repository has: docker/Dockerfile.prod, web/Containerfile.',
    });
  });

  test('a Dockerfile never is a file of this machine, by dots or by a link', async () => {
    write({ 'api/x': '', 'other/Dockerfile': 'FROM scratch' });
    symlinkSync('/etc/passwd', join(folder, 'api/Dockerfile'));
    await expect(at('/api')).rejects.toMatchObject({
      code: 'DOCKERFILE_MISSING',
      message: expect.stringContaining('points outside'),
    });
    await expect(at('/api', '../other/Dockerfile')).rejects.toMatchObject({ code: 'DOCKERFILE_MISSING' });
  });

  test('a Dockerfile that is a link inside of the context is what it points to', async () => {
    write({ 'docker/real': 'FROM scratch' });
    symlinkSync('docker/real', join(folder, 'Dockerfile'));
    expect((await at()).dockerfilePath).toBe('docker/real');
  });
});
