import { expect, test } from 'vitest';
import { buildFailure } from '../../shared/build/build-failure.ts';
import { parseDockerfile } from '../../shared/build/dockerfile.ts';
import { BuildOutput, type BuildOutcome } from '../../shared/build/output.ts';
import { BuildctlOutput } from './progress.ts';

// Recorded from buildctl of August 2026 (0.32), with shortened digests.
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const at = '2026-11-22T10:47:08Z';
const copy = { digest: 'sha256:fc2a', name: '[1/3] COPY busybox /bin/busybox' };
const run = { digest: 'sha256:2a0a', name: '[3/3] RUN echo hi; exit 3' };
const words = 'process "/bin/sh -c echo hi; exit 3" did not complete successfully: exit code: 3';
const failing = [
  JSON.stringify({ vertexes: [run, copy] }),
  JSON.stringify({ vertexes: [{ ...copy, started: at }] }),
  JSON.stringify({ statuses: [{ id: 'transferring context:', vertex: copy.digest, current: 28 }] }),
  JSON.stringify({ vertexes: [{ ...copy, started: at, completed: at, cached: true }] }),
  JSON.stringify({ vertexes: [{ ...run, started: at }] }),
  JSON.stringify({ logs: [{ vertex: run.digest, stream: 1, data: base64('hi\nthe') }] }),
  JSON.stringify({ logs: [{ vertex: run.digest, stream: 1, data: base64('re ü\n') }] }),
  '',
  JSON.stringify({ warnings: [{ vertex: run.digest, level: 1, short: base64('careful') }] }),
  JSON.stringify({ vertexes: [{ ...run, started: at, completed: at, error: words }] }),
  'Dockerfile:5',
  '--------------------',
  '   5 | >>> RUN echo hi; exit 3',
  `error: failed to solve: ${words}`,
].join('\n');

function read(text: string, size = text.length): { log: string[]; outcome: BuildOutcome; message: string } {
  const log: string[] = [];
  const output = new BuildOutput((line) => log.push(line));
  const printed = new BuildctlOutput(output);
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; from += size) printed.write(bytes.subarray(from, from + size));
  return { message: printed.end(), log, outcome: output.end() };
}

test('progress becomes numbered lines in the order of the steps, and the failure names its own', () => {
  const { log, outcome, message } = read(failing);
  expect(log).toEqual([
    '#1 [1/3] COPY busybox /bin/busybox',
    '#1 CACHED',
    '#2 [3/3] RUN echo hi; exit 3',
    '#2 hi',
    '#2 there ü',
    'WARNING: careful',
  ]);
  expect(message).toBe(words);
  const known = { dockerfile: parseDockerfile('FROM scratch\n'), dockerfilePath: 'Dockerfile', memoryMiB: 64 };
  const failure = buildFailure({ outcome, message, wasKilledForMemory: false, ...known });
  expect([failure.code, failure.message]).toEqual(['BUILD_COMMAND_FAILED', 'RUN echo hi; exit 3 exited with code 3.']);
});

test('is the same however it is cut into pieces', () => {
  expect(read(failing, 1)).toEqual(read(failing));
});

test('of what an image is made and sent in, each is told once', () => {
  const status = (id: string) => JSON.stringify({ statuses: [{ id, vertex: 'sha256:e' }] });
  const text = [
    JSON.stringify({ vertexes: [{ digest: 'sha256:e', name: 'exporting to image', started: at }] }),
    ...['exporting layers', 'exporting layers', 'exporting manifest sha256:1', 'pushing layers', 'sha256:1'].map(status),
  ].join('\n');
  expect(read(text).log).toEqual(['#1 exporting to image', '#1 exporting layers', '#1 pushing layers']);
});

test('what a registry answers on lines of its own belongs to the failure', () => {
  const text = 'error: failed to solve: failed to push r.example/a:1: errors:\ndenied: requested access is denied\n';
  expect(read(text).message).toBe('failed to push r.example/a:1: errors:\ndenied: requested access is denied');
});

test('where it says nothing that is known, all its words count', () => {
  expect(read('sh: buildctl: not found\n').message).toBe('sh: buildctl: not found');
  expect(read('{"broken').message).toBe('{"broken');
  expect(read('').message).toBe('');
});
