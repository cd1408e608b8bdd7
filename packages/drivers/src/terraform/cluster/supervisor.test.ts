import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commandScript, outputLine, locations, progressOf, runFolder, supervisor } from './supervisor.ts';

const runId = '0c1f2f5e-5f0b-8a51-8c9c-0d3f1d3b7f10';
const until = { timeout: 10_000, interval: 20 };

let folder: string;
let child: ChildProcess;
let closed: Promise<unknown>;
let output: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'supervisor-'));
  output = '';
  child = spawn('/bin/sh', ['-c', here(supervisor), 'davit', runId], { stdio: ['ignore', 'pipe', 'inherit'] });
  closed = once(child, 'close');
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
});
afterEach(async () => {
  child.kill('SIGKILL');
  // Processes that it started hold its output open, and may still write to the folder.
  await closed;
  await rm(folder, { recursive: true, force: true });
});

/** Replaces the folder of a pod by a folder of this machine. */
const here = (text: string): string => text.replaceAll(runFolder, folder);
const journal = async () => progressOf(await readFile(here(locations.journal), 'utf8').catch(() => null));
const ended = async (key: string, code: number): Promise<void> => {
  await expect.poll(async () => (await journal()).ended.get(key)?.code, until).toBe(code);
};

async function begin(key: string, line: string, into: string | null = null): Promise<void> {
  const script = commandScript(line, { folder: runFolder, output: into });
  await mkdir(join(folder, 'commands', key), { recursive: true });
  await writeFile(join(folder, locations.script(key)), here(script));
  await writeFile(join(folder, locations.go(key)), '');
}

test('commands run one after the other, and how each ended is written down and said', async () => {
  await begin('plan', `sh -c 'echo two to add; exit 2'`);
  await ended('plan', 2);
  await begin('apply', `sh -c 'printf done'`);
  await ended('apply', 0);
  const lines = output.trimEnd().split('\n');
  expect(lines.map((line) => outputLine(line, runId))).toEqual([
    { text: '', begun: 'plan', ended: null },
    { text: 'two to add', begun: null, ended: null },
    { text: '', begun: null, ended: { key: 'plan', code: 2, isShort: false } },
    { text: '', begun: 'apply', ended: null },
    { text: 'done', begun: null, ended: { key: 'apply', code: 0, isShort: false } },
  ]);
  expect((await journal()).begun).toEqual(new Set(['plan', 'apply']));
});

test('what is not for the log goes into a file', async () => {
  await begin('output', 'echo sesame', locations.output('output'));
  await ended('output', 0);
  expect(await readFile(here(locations.output('output')), 'utf8')).toBe('sesame\n');
  expect(output).not.toContain('sesame');
});

const patient = `sh -c 'trap "echo stored; exit 1" TERM; touch up; while :; do sleep 0.05; done'`;
const isUp = async (): Promise<void> => {
  await expect.poll(() => existsSync(join(folder, 'up')), until).toBe(true);
};

test('a command that is told to stop ends in order, and others can follow', async () => {
  await begin('apply', patient);
  await isUp();
  await writeFile(join(folder, locations.stop('apply')), '');
  await ended('apply', 1);
  await expect.poll(() => output, until).toContain('stored');
  await begin('state', 'true');
  await ended('state', 0);
});

test('the end of the pod is passed on to the command, which ends in order; nothing is begun after it', async () => {
  await begin('apply', patient);
  await isUp();
  child.kill('SIGTERM');
  await ended('apply', 1);
  await expect.poll(() => child.exitCode, until).toBe(0);
  expect(output).toContain('stored');
});

test('a command whose code could not be written down, as the disk is full, has failed', () => {
  const codeOf = (text: string) => progressOf(`begin apply\nend apply ${text} enough\n`).ended.get('apply')?.code;
  fc.assert(
    fc.property(fc.nat(255), (code) => {
      expect(codeOf(String(code))).toBe(code);
    }),
  );
  for (const text of ['', '-', '0x0', '1e0', '+0']) expect(codeOf(text)).toBe(1);
  for (const journal of ['end apply', 'end apply ']) expect(progressOf(journal).ended.get('apply')?.code).toBe(1);
  expect(outputLine(`::davit ${runId} end apply  enough`, runId).ended).toBeNull();
});

test('a line that looks like one of another run is the text of a command', () => {
  expect(outputLine('::davit other end apply 0', runId)).toEqual({ text: '::davit other end apply 0', begun: null, ended: null });
  expect(outputLine(`::davit ${runId} end apply 137 short`, runId).ended).toEqual({ key: 'apply', code: 137, isShort: true });
  expect(progressOf(null)).toEqual({ begun: new Set(), ended: new Map() });
});
