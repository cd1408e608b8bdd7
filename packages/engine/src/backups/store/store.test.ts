import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FolderBackupStore } from './folder-store.ts';
import { opened, sealed } from './sealing.ts';

const key = randomBytes(32);
async function* pieces(...all: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const one of all) {
    await Promise.resolve();
    yield one;
  }
}
const seal = (content: Uint8Array): Promise<Buffer> => buffer(sealed(pieces(content), key));
const confirmed = (): Promise<void> => Promise.resolve();
const open = (stored: Uint8Array, with_ = key): Promise<Buffer> => buffer(opened(pieces(stored), with_));
/** Yields the first text, then waits until it is resumed, either with the second text or with an error. */
function heldPieces(one: string, two: string) {
  const { promise: half, resolve: isHalf } = Promise.withResolvers<void>();
  const { promise: rest, resolve } = Promise.withResolvers<Error | undefined>();
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(one);
    isHalf();
    const error = await rest;
    if (error !== undefined) throw error;
    yield Buffer.from(two);
  };
  return { content: content(), half, goOn: (error?: Error) => resolve(error) };
}

describe('a sealed backup', () => {
  test.each([0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])('of %d bytes opens as it was', async (size) => {
    const content = randomBytes(size);
    expect((await open(await seal(content))).equals(content)).toBe(true);
  });

  test('opens in whatever pieces it arrives, and was given', async () => {
    const content = randomBytes(3_000_000);
    const stored = await buffer(
      sealed(pieces(content.subarray(0, 7), content.subarray(7, 2_500_000), content.subarray(2_500_000)), key),
    );
    const parts = Array.from({ length: 400 }, (_, index) => stored.subarray(index * 10_000, (index + 1) * 10_000));
    expect((await buffer(opened(pieces(...parts), key))).equals(content)).toBe(true);
  });

  test('shows nothing of what it holds', async () => {
    expect((await seal(Buffer.from('sesame'.repeat(100)))).toString('latin1')).not.toContain('sesame');
  });

  test('does not open when it was cut off anywhere, changed, or something was appended', async () => {
    const stored = await seal(randomBytes(2_500_000));
    const cuts = [0, 5, 8, 9, 100, stored.length - 1, 8 + 4 + (1 << 20) + 16, 8 + 2 * (4 + (1 << 20) + 16)];
    for (const length of cuts) await expect(open(stored.subarray(0, length))).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    for (const location of [0, 9, 20, 1_500_000, stored.length - 1]) {
      const changed = Buffer.from(stored);
      changed[location] = (changed[location] ?? 0) ^ 1;
      await expect(open(changed)).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    }
    await expect(open(Buffer.concat([stored, Buffer.from([0])]))).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    await expect(open(Buffer.concat([stored, stored.subarray(8)]))).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    await expect(open(stored, randomBytes(32))).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
  });
});

describe('a folder of backups', () => {
  let folder: string;
  let store: FolderBackupStore;
  beforeEach(async () => {
    folder = path.join(await mkdtemp(path.join(tmpdir(), 'davit-backups-')), 'backups');
    store = new FolderBackupStore(folder);
  });
  afterEach(() => rm(path.dirname(folder), { recursive: true, force: true }));

  test('gives back what was stored, with its size and checksum, in a file that nobody else can read', async () => {
    const id = randomUUID();
    const content = randomBytes(100_000);
    const stored = await store.write(id, pieces(content), confirmed);
    expect(stored).toEqual({ sizeBytes: 100_000, sha256: createHash('sha256').update(content).digest('hex') });
    expect((await buffer(store.read(id))).equals(content)).toBe(true);
    const file = path.join(folder, `${id}.backup`);
    expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
    await store.remove(id);
    await store.remove(id);
    await expect(buffer(store.read(id))).rejects.toMatchObject({ code: 'BACKUP_MISSING' });
  });

  test('has nothing of what broke in the middle, and keeps what was there under that id', async () => {
    const id = randomUUID();
    await store.write(id, pieces(Buffer.from('whole')), confirmed);
    const breaking = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      await Promise.resolve();
      throw new Error('the source broke');
    };
    await expect(store.write(id, breaking(), confirmed)).rejects.toThrow('the source broke');
    expect(await readFile(path.join(folder, `${id}.backup`), 'utf8')).toBe('whole');
    expect(await readdir(folder)).toEqual([`${id}.backup`]);
  });

  test('removes what a process left that died in the middle', async () => {
    await store.removeUnfinished();
    const id = randomUUID();
    await store.write(id, pieces(Buffer.from('whole')), confirmed);
    await writeFile(path.join(folder, `${randomUUID()}.backup.${randomUUID()}.part`), 'half');
    await writeFile(path.join(folder, `${randomUUID()}.backup.part`), 'half, of a former version');
    await store.removeUnfinished();
    expect(await readdir(folder)).toEqual([`${id}.backup`]);
  });

  test('removes a backup with what attempts left of it, and nothing of others', async () => {
    const [id, other] = [randomUUID(), randomUUID()];
    await store.write(id, pieces(Buffer.from('whole')), confirmed);
    const kept = `${other}.backup.${randomUUID()}.part`;
    for (const name of [`${id}.backup.${randomUUID()}.part`, `${id}.backup.part`, kept])
      await writeFile(path.join(folder, name), 'half');
    await store.remove(id);
    expect(await readdir(folder)).toEqual([kept]);
  });

  test('an attempt that breaks late takes nothing from the one that was begun after it', async () => {
    const id = randomUUID();
    const first = heldPieces('old, ', 'old');
    const second = heldPieces('new, ', 'new');
    const late = store.write(id, first.content, confirmed);
    await first.half;
    const anew = store.write(id, second.content, confirmed);
    await second.half;
    first.goOn(new Error('the source broke'));
    await expect(late).rejects.toThrow('the source broke');
    second.goOn();
    await anew;
    expect(await readFile(path.join(folder, `${id}.backup`), 'utf8')).toBe('new, new');
    expect(await readdir(folder)).toEqual([`${id}.backup`]);
  });

  test('stores nothing of an attempt that is not confirmed', async () => {
    const id = randomUUID();
    await store.write(id, pieces(Buffer.from('of the next attempt')), confirmed);
    const refused = store.write(id, pieces(Buffer.from('late')), () => Promise.reject(new Error('taken over')));
    await expect(refused).rejects.toThrow('taken over');
    expect(await readFile(path.join(folder, `${id}.backup`), 'utf8')).toBe('of the next attempt');
    expect(await readdir(folder)).toEqual([`${id}.backup`]);
  });

  test('says that the folder cannot be written', async () => {
    await writeFile(folder, '');
    await expect(store.write(randomUUID(), pieces(), confirmed)).rejects.toMatchObject({ code: 'BACKUP_STORE_FAILED' });
  });
});
