import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runDnsProgram } from './program.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-dns-program-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function run(script: string): Promise<{ readonly lines: string[]; readonly failure: string | null }> {
  const program = path.join(folder, 'program');
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  const lines: string[] = [];
  const options = { log: (line: string) => void lines.push(line), signal: new AbortController().signal };
  const record = { name: '_acme-challenge.example.org', text: 'a$(b) "c"' };
  const failure = await runDnsProgram(program, 'add', record, options).then(
    () => null,
    (error: Error) => error.message,
  );
  return { lines, failure };
}

test('the program gets action, name and value as they are, and none of the settings of Davit', async () => {
  vi.stubEnv('DAVIT_SECRET_KEY', 'hidden');
  vi.stubEnv('PROVIDER_TOKEN', 'shown');
  const { lines, failure } = await run('echo "$1|$2|$3|$DAVIT_SECRET_KEY|$PROVIDER_TOKEN"');
  vi.unstubAllEnvs();
  expect(failure).toBeNull();
  expect(lines).toEqual(['add|_acme-challenge.example.org|a$(b) "c"||shown']);
});

test('the output of a program that fails is in the log, and not in the error', async () => {
  const { lines, failure } = await run('echo "token 123 is wrong" >&2; exit 3');
  expect(lines).toEqual(['token 123 is wrong']);
  expect(failure).toBe('the program of DAVIT_DNS_PROGRAM ended with exit code 3; the log of Davit has its output');
  const nowhere = { log: () => undefined, signal: new AbortController().signal };
  await expect(runDnsProgram('/nowhere/x', 'add', { name: 'a', text: 'b' }, nowhere)).rejects.toThrow('cannot be run (ENOENT)');
});

test('a process that the program leaves behind holds nothing up', async () => {
  const { lines, failure } = await run('sleep 60 & echo begun');
  expect({ lines, failure }).toEqual({ lines: ['begun'], failure: null });
});
