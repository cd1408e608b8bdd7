import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Sensitive } from '@davit/base';
import { createTestDatabase, type TestDatabase } from '@davit/testkit/database';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openVault, readKeys } from './keys.ts';

let folder: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-keys-'));
  database = await createTestDatabase();
});
afterEach(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('the key file is made once, readable by its owner only, also by two starts at once', async () => {
  const [one, two] = await Promise.all([readKeys(folder, null), readKeys(folder, null)]);
  expect(one).toEqual(two);
  expect((await stat(path.join(folder, 'secret-key'))).mode & 0o777).toBe(0o600);
  expect(await readKeys(folder, null)).toEqual(one);
  expect(Buffer.from(await readFile(path.join(folder, 'secret-key'), 'utf8'), 'base64')).toEqual(one[0]);
});

test('a key file that others can read is refused', async () => {
  await readKeys(folder, null);
  await chmod(path.join(folder, 'secret-key'), 0o644);
  await expect(readKeys(folder, null)).rejects.toMatchObject({
    code: 'SECRET_KEY_WRONG',
    message: expect.stringContaining('chmod 600'),
  });
});

test('a key that is no 32 bytes is refused without being shown', async () => {
  const failure = readKeys(folder, new Sensitive('dG9vIHNob3J0'));
  await expect(failure).rejects.toMatchObject({ code: 'SECRET_KEY_WRONG' });
  await expect(failure).rejects.not.toThrow(/dG9v/);
});

test('a start with another key than the first one is refused, one with both goes on', async () => {
  const first = randomBytes(32);
  const second = randomBytes(32);
  await openVault(database.database, [first]);
  await openVault(database.database, [first]);
  await expect(openVault(database.database, [second])).rejects.toMatchObject({ code: 'SECRET_KEY_WRONG' });
  const vault = await openVault(database.database, [second, first]);
  expect(vault.open('a', vault.seal('a', 'text'))).toBe('text');
});
