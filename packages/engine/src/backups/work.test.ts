import { DatabaseUnavailable } from '@davit/db';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BackupRow, RestoreRow } from '../store/backups.ts';
import { makeBackup, restoreBackup, type BackupParts } from './work.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('where the database stays away neither a backup nor a restore has failed: it is let go of', async () => {
  const away = new DatabaseUnavailable(undefined);
  let requested = 0;
  const maybe = (): Promise<never> => {
    requested += 1;
    return Promise.reject(away);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is looked at
  const parts = { engine: { database: { maybe }, settings: {} } } as unknown as BackupParts;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const row = { id: 'one', service_id: 'store' } as unknown as BackupRow & RestoreRow;
  const { signal } = new AbortController();
  const call = { signal, leave: signal, log: () => undefined };
  const works = [makeBackup(parts, row, { attempt: 1, stored_at: null }, call), restoreBackup(parts, row, call)];
  const ends = Promise.allSettled(works);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await ends).toEqual(works.map(() => ({ status: 'rejected', reason: away })));
  // The work was retried before, with pauses.
  expect(requested).toBe(12);
});
