import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withLock } from './processes.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'davit-lock-'));
  file = join(folder, 'service.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const locked = (action: () => Promise<string>): Promise<string> => withLock(file, AbortSignal.timeout(5_000), action);

test('holders of a lock follow each other, and leave nothing behind', async () => {
  let holders = 0;
  const hold = async (): Promise<string> => {
    holders += 1;
    await new Promise((resolve) => setImmediate(resolve));
    expect(holders).toBe(1);
    holders -= 1;
    return 'done';
  };
  await expect(Promise.all([locked(hold), locked(hold), locked(hold)])).resolves.toEqual(['done', 'done', 'done']);
  expect(readdirSync(folder)).toEqual([]);
});

test.each([
  ['a process that has ended', '1 0 x'],
  ['a version that left it empty when it was killed', ''],
])('the lock of %s is taken over', async (_name, content) => {
  writeFileSync(file, content);
  await expect(locked(() => Promise.resolve('done'))).resolves.toBe('done');
  expect(readdirSync(folder)).toEqual([]);
});
