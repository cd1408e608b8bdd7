import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from './command.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-command-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a script of a shell, which is told to stop as soon as it says that it is ready. */
function stopped(script: string, graceSeconds: number) {
  const stop = new AbortController();
  return runCommand(
    {
      program: '/bin/sh',
      arguments: ['-c', script],
      folder,
      environment: { PATH: process.env['PATH'] ?? '' },
      limits: { cpuMillicores: 1000, memoryMiB: 512, storageGiB: 1, graceSeconds },
      signal: stop.signal,
      onLine: (line) => line === 'ready' && stop.abort(),
    },
    join(folder, 'davit.pid'),
  );
}

test('a command that is told to stop may end in order', async () => {
  const end = await stopped('trap "echo stored; exit 3" TERM; echo ready; while :; do sleep 0.05; done', 30);
  expect(end).toMatchObject({ code: 3, lines: ['ready', 'stored'] });
});

test('a command that does not end is killed after its grace period', async () => {
  const begin = performance.now();
  const end = await stopped('trap "" TERM; echo ready; while :; do sleep 0.05; done', 1);
  expect(end.code).toBe(137);
  expect(performance.now() - begin).toBeGreaterThan(900);
});
