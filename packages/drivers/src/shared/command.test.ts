import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from './command.ts';
import { startOf } from './processes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-command-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs a shell script and stops it as soon as it reports that it is ready. */
function stopped(script: string, graceSeconds: number, { isCaptured = false, isKilled = false } = {}) {
  const stop = new AbortController();
  return runCommand(
    {
      isCaptured,
      program: '/bin/sh',
      arguments: ['-c', script],
      folder,
      environment: { PATH: process.env['PATH'] ?? '' },
      limits: { cpuMillicores: 1000, memoryMiB: 512, storageGiB: 1, graceSeconds },
      signal: stop.signal,
      ...(isKilled && { kill: stop.signal }),
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

test('a command that another process takes up is killed at once', async () => {
  const begin = performance.now();
  await stopped('trap "" TERM; echo ready; while :; do sleep 0.05; done', 30, { isKilled: true });
  expect(performance.now() - begin).toBeLessThan(10_000);
});

test('a line without an end is cut, and does not fill the memory', async () => {
  const before = process.memoryUsage().rss;
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
  const end = await stopped("head -c 300000000 /dev/zero | tr '\\0' x; echo; echo after", 30);
  clearInterval(timer);
  expect(end).toMatchObject({ code: 0, excess: null, lines: [expect.stringMatching(/^x{65536} … /), 'after'] });
  expect(most - before).toBeLessThan(150 * 2 ** 20);
});

test('output that is wanted whole is no line; a command that prints too much of it is stopped', async () => {
  const end = await stopped("printf 'secret\\nmore\\r\\n'; echo warned >&2; exit 2", 30, { isCaptured: true });
  expect(end).toEqual({ code: 2, signal: null, lines: ['warned'], output: 'secret\nmore\r\n', excess: null });
  const much = await stopped('exec yes', 30, { isCaptured: true });
  expect(much).toMatchObject({ output: '', excess: 'printed more than 16 MiB, and was stopped' });
});

test.runIf(process.getuid?.() === 0)(
  'a program with all that it starts is held to memory and processes, and nothing of it stays',
  async () => {
    const script = `
    for place in /sys/fs/cgroup /sys/fs/cgroup/pids /sys/fs/cgroup/memory; do
      group=$(ls -d $place/davit-run-$PPID* $place/davit-run-* 2>/dev/null | while read -r one; do grep -qx $$ $one/cgroup.procs && echo $one; done)
      [ -n "$group" ] && cat $group/pids.max $group/memory.max $group/memory.limit_in_bytes 2>/dev/null
    done
    sleep 300 >/dev/null 2>&1 & echo left $!`;
    const end = await stopped(script, 30);
    expect(end.lines).toEqual(expect.arrayContaining(['4096', String(2 * 2 ** 30)]));
    const left = Number(/left (\d+)/.exec(end.lines.join('\n'))?.[1]);
    // A zombie has exited too.
    expect(startOf(left)).toBe('');
  },
);
