import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { breakLock, changeConfig, configFile, identityOf, linkOf, readConfig, type Context, type Link } from './config.ts';

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-config-'));
  file = path.join(folder, 'davit/config.json');
});
afterAll(() => rm(folder, { recursive: true }));

const context: Context = {
  server: 'http://127.0.0.1:4440',
  token: 'dvt_secret',
  isOwn: true,
  tokenName: null,
  expiresAt: null,
  organization: null,
};
const add = (name: string): Promise<void> =>
  changeConfig(file, (config) => ({ ...config, current: name, contexts: { ...config.contexts, [name]: context } }));

test('many commands at once lose nothing; the file is for its user only', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `context ${index}`);
  await Promise.all(names.map(add));
  expect(Object.keys((await readConfig(file)).contexts).toSorted()).toEqual(names.toSorted());
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(path.dirname(file))).toEqual(['config.json']);
});

test('the lock of a command that was killed does not stop others, of which one at a time holds the next lock', async () => {
  const leave = async (): Promise<void> => {
    await writeFile(`${file}.lock`, '');
    const before = new Date(Date.now() - 60_000);
    await utimes(`${file}.lock`, before, before);
  };
  await leave();
  await add('after');
  expect((await readConfig(file)).current).toBe('after');
  for (let round = 0; round < 2; round += 1) {
    const names = Array.from({ length: 12 }, (_, index) => `round ${round}, ${index}`);
    await leave();
    await Promise.all(names.map(add));
    expect(Object.keys((await readConfig(file)).contexts)).toEqual(expect.arrayContaining(names));
  }
  await add('after');
  expect(await readdir(path.dirname(file))).toEqual(['config.json']);
});

test('who finds an old lock late does not remove the lock that another command has made since', async () => {
  const lock = `${file}.lock`;
  await writeFile(lock, '');
  await utimes(lock, new Date(0), new Date(0));
  const old = (await identityOf(lock)) ?? '';
  await writeFile(`${lock}.${old}`, '');
  await breakLock(lock, old);
  // Another command has claimed it, and removes it.
  expect(await identityOf(lock)).toBe(old);
  await rm(`${lock}.${old}`);
  await breakLock(lock, old);
  expect(await identityOf(lock)).toBeNull();
  await writeFile(lock, '');
  await breakLock(lock, old);
  expect(await identityOf(lock)).not.toBeNull();
  await rm(lock);
  expect(await readdir(path.dirname(file))).toEqual(['config.json']);
});

test('a change that fails leaves the file as it was', async () => {
  const fail = (): never => {
    throw new Error('no');
  };
  await expect(changeConfig(file, fail)).rejects.toThrow(`${file} cannot be written: no`);
  expect((await readConfig(file)).current).toBe('after');
  expect(await readdir(path.dirname(file))).toEqual(['config.json']);
});

test('a file that is no JSON is named; a missing one is empty', async () => {
  expect(await readConfig(path.join(folder, 'none'))).toEqual({ current: null, contexts: {}, links: {} });
  const broken = path.join(folder, 'broken');
  await writeFile(broken, '{');
  await expect(readConfig(broken)).rejects.toThrow('is not valid JSON');
});

test('variables say where the file is; a folder has the link of the nearest folder above', () => {
  expect(configFile({ DAVIT_CONFIG: '/a/b.json' })).toBe('/a/b.json');
  expect(configFile({ XDG_CONFIG_HOME: '/x', HOME: '/h' })).toBe('/x/davit/config.json');
  expect(configFile({ HOME: '/h' })).toBe('/h/.config/davit/config.json');
  const named = { id: '1', name: 'one' };
  const link: Link = { context: 'here', organization: named, project: named, environment: named, service: null };
  const config = { current: null, contexts: {}, links: { '/code/shop': link } };
  expect(linkOf(config, '/code/shop/src/deep')).toBe(link);
  expect(linkOf(config, '/code/shopping')).toBeNull();
});
