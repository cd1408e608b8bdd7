import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startOf } from '../shared/processes.ts';
import { ownPodmanPaths, startOwnPodman } from './own-podman.ts';

let folder: string;
let state: string;
const formerPath = process.env['PATH'];

/** A fake `podman` that listens only after a delay, and records each of its processes. */
function slowPodman(milliseconds: number): void {
  const program = join(folder, 'podman.mjs');
  writeFileSync(
    program,
    `import { createServer } from 'node:http';
     import { appendFileSync } from 'node:fs';
     appendFileSync(${JSON.stringify(join(folder, 'started'))}, process.pid + '\\n');
     const socket = process.argv.at(-1).slice('unix://'.length);
     const answer = JSON.stringify({ Version: '4.3.1', ApiVersion: '1.41', Components: [{ Name: 'Podman Engine' }] });
     setTimeout(() => createServer((_, response) => response.end(answer)).listen(socket), ${milliseconds});`,
  );
  writeFileSync(join(folder, 'podman'), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`);
  chmodSync(join(folder, 'podman'), 0o755);
}

const started = (): number[] =>
  existsSync(join(folder, 'started')) ? readFileSync(join(folder, 'started'), 'utf8').trim().split('\n').map(Number) : [];
const running = (): number[] => started().filter((id) => startOf(id) !== '');
const pidOf = (): number => Number(readFileSync(ownPodmanPaths(state).pid, 'utf8'));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'davit-slow-'));
  state = join(folder, 'state');
  mkdirSync(state);
  process.env['PATH'] = `${folder}:${formerPath}`;
});
afterEach(() => {
  process.env['PATH'] = formerPath;
  for (const id of running()) process.kill(id, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;

test('a service that starts slowly is waited for, and not started again, whoever gives up meanwhile', async () => {
  slowPodman(1500);
  const impatient = (): Promise<unknown> => startOwnPodman(state, AbortSignal.timeout(300)).catch(() => 'gave up');
  expect(await Promise.all([impatient(), impatient()])).toEqual(['gave up', 'gave up']);
  expect(await impatient()).toBe('gave up');
  const locations = ownPodmanPaths(state);
  expect(await Promise.all([startOwnPodman(state, never), startOwnPodman(state, never)])).toEqual([
    locations.socket,
    locations.socket,
  ]);
  expect(started()).toEqual([pidOf()]);
});

test('services that were left over are ended, but for the one that answers', async () => {
  slowPodman(10);
  const socket = await startOwnPodman(state, never);
  const [first] = started();
  // Earlier versions left such services behind: on the same socket, which the first service still serves.
  slowPodman(60_000);
  for (let number = 0; number < 3; number += 1) {
    spawn(join(folder, 'podman'), ['system', 'service', '--time=0', `unix://${socket}`], { stdio: 'ignore', detached: true });
  }
  await vi.waitFor(() => expect(running()).toHaveLength(4), 10_000);
  expect(await startOwnPodman(state, never)).toBe(socket);
  expect(running()).toEqual([first]);
  expect(pidOf()).toBe(first);
});

test('a service that does not come up at all gives way to a new one', async () => {
  slowPodman(60_000);
  await expect(startOwnPodman(state, AbortSignal.timeout(1000))).rejects.toThrow(/timeout/i);
  await vi.waitFor(() => expect(running()).toHaveLength(1), 5_000);
  slowPodman(10);
  await startOwnPodman(state, never, { giveUpMilliseconds: 0 });
  const [former, present] = started();
  expect(running()).toEqual([present]);
  expect(present).not.toBe(former);
});

test('the lock of a process that has ended is taken over', async () => {
  slowPodman(10);
  const { lock, folder: own } = ownPodmanPaths(state);
  mkdirSync(own, { recursive: true });
  writeFileSync(lock, `1 1 of-a-former-one`);
  await startOwnPodman(state, never);
  expect(existsSync(lock)).toBe(false);
  expect(started()).toHaveLength(1);
});
