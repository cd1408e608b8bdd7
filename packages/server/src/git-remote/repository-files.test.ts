import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { gitEnvironment } from './git-process.ts';
import { hooksOf } from './repository-files.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-git-hooks-'));
  execFileSync('git', ['init', '--quiet', '--bare', folder], { env: gitEnvironment() });
  const { 'pre-receive': hook = '' } = hooksOf({ pushBytes: 1, pushObjects: 1, references: 5, repositoryBytes: 1 });
  await writeFile(path.join(folder, 'hook'), hook, { mode: 0o700 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs the hook before a push of the branch main. `answer`: the line of the server; null: it says nothing. */
async function beforePush(environment: Readonly<Record<string, string>>, answer: string | null): Promise<Ended> {
  const child = spawn(path.join(folder, 'hook'), {
    cwd: folder,
    env: gitEnvironment({ DAVIT_BRANCH: 'main', ...environment }),
    stdio: ['pipe', 'pipe', 'inherit', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.stdin?.end(`${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\n`);
  const [, , , , answers] = child.stdio;
  if (answer !== null && answers !== null && answers !== undefined && 'write' in answers) answers.write(`${answer}\n`);
  const output = child.stdout === null ? '' : await text(child.stdout);
  return { code: await ended, output };
}

test('the branch changes once the server has recorded the push, and not if it cannot', async () => {
  const environment = { DAVIT_RECORDS: 'true' };
  expect(await beforePush(environment, 'ok')).toEqual({ code: 0, output: '' });
  expect(await beforePush(environment, 'Push again.')).toEqual({ code: 1, output: 'Push again.\n' });
});

test('a push through a server of an earlier version, which records nothing, does not wait for it', async () => {
  expect(await beforePush({}, null)).toEqual({ code: 0, output: '' });
});
