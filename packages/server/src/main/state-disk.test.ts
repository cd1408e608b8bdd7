import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { writingChecks, writingMetrics } from '../http/writing.ts';
import { StateDisk } from './state-disk.ts';

const folder = mkdtempSync(join(tmpdir(), 'davit-disk-'));
let isMounted = false;
afterEach(() => {
  if (isMounted) execFileSync('umount', [folder]);
  isMounted = false;
  rmSync(folder, { recursive: true, force: true });
});

function mountsDisk(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'none', folder], { stdio: 'ignore' });
    isMounted = true;
  } catch {
    // Only root can mount.
  }
  return isMounted;
}

describe('the disk of the state folder', () => {
  test('is warned of before it is full, once, and again when it is', async ({ skip }) => {
    if (!mountsDisk()) skip('this user may not mount a disk');
    const lines: string[] = [];
    const keep = (_details: object, message: string): void => void lines.push(message);
    const disk = new StateDisk({ folder, minFreeMiB: 128, log: { info: keep, warn: keep } });
    expect(await disk.look()).toMatchObject({ state: 'ok' });
    writeFileSync(join(folder, 'half'), Buffer.alloc(64 * 1024 * 1024));
    expect(await disk.look()).toMatchObject({ state: 'low' });
    await disk.look();
    writeFileSync(join(folder, 'rest'), Buffer.alloc(64 * 1024 * 1024));
    const full = await disk.look();
    expect(full).toMatchObject({ state: 'full' });
    rmSync(join(folder, 'rest'));
    rmSync(join(folder, 'half'));
    await disk.look();
    expect(lines).toEqual([
      expect.stringContaining('nearly full'),
      expect.stringContaining('nothing can be stored'),
      expect.stringContaining('room again'),
    ]);
    const writing = { disk: full, log: { dropped: 3, failure: 'ENOSPC' } };
    expect(writingChecks(writing)).toMatchObject({
      state_folder: { state: 'full', advice: expect.stringContaining('DAVIT_HOME') },
      log: { state: 'failing', dropped_lines: 3, error: 'ENOSPC' },
    });
    expect(writingMetrics(writing)).toMatch(/^davit_log_lines_dropped_total 3$/m);
  });

  test('that cannot be asked is nothing to warn of', async () => {
    const none = { info: () => undefined, warn: () => expect.unreachable() };
    const disk = new StateDisk({ folder: join(folder, 'nowhere'), minFreeMiB: 0, log: none });
    expect(await disk.look()).toBeNull();
    expect(writingChecks({ disk: null, log: { dropped: 0, failure: null } })).toMatchObject({ log: { state: 'ok' } });
  });
});
