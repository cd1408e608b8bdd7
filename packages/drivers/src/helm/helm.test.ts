import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sensitive } from '@davit/base';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HelmInstall, HelmRun } from '../helm-driver.ts';
import { Helm } from './helm.ts';

/* Uses a program in place of Helm that records its arguments. */

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-helm-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Makes `uninstall` fail if the chart's hooks run; `hooks` is the output of `helm get hooks`. */
async function helm(hooks: string): Promise<Helm> {
  const program = join(folder, 'helm-4');
  const lines = [
    '#!/bin/sh',
    'if [ "$1" = version ]; then printf v4.0.0; exit 0; fi',
    `echo "$*" >> ${join(folder, 'calls')}`,
    `if [ "$1" = get ]; then printf '%s' '${hooks}'; exit 0; fi`,
    'case "$*" in *--no-hooks*) exit 0 ;; esac',
    'echo "Error: job failed" >&2; exit 1',
  ];
  await writeFile(program, lines.join('\n'));
  await chmod(program, 0o755);
  return new Helm(program);
}
const runOf = (install: HelmInstall | null): HelmRun => ({
  folder: join(folder, 'run'),
  release: 'web',
  namespace: 'place',
  kubeconfig: new Sensitive('{}'),
  timeoutSeconds: 5,
  install,
});
const reported: string[] = [];
const call = { signal: new AbortController().signal, log: (line: string) => void reported.push(line) };
const words = async (): Promise<string[]> =>
  (await readFile(join(folder, 'calls'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => `${line.split(' ')[0]}${line.includes('--no-hooks') ? ' --no-hooks' : ''}`);

test('a chart whose hook for its deletion fails is uninstalled without hooks, which is told', async () => {
  const session = await (await helm('  annotations:\n    "helm.sh/hook": post-install,pre-delete\n')).open(runOf(null), call);
  await session.uninstall(call);
  await session.close();
  expect(await words()).toEqual(['uninstall', 'get', 'uninstall --no-hooks']);
  expect(reported.join('\n')).toContain('job failed');
  expect(reported.join('\n')).toContain('--no-hooks');
});

test('a chart without such a hook is not uninstalled a second time', async () => {
  const session = await (await helm('    helm.sh/hook: pre-install\n')).open(runOf(null), call);
  await expect(session.uninstall(call)).rejects.toMatchObject({ code: 'HELM_FAILED' });
  await session.close();
  expect(await words()).toEqual(['uninstall', 'get']);
});

test('values that cannot be written leave no kubeconfig on this machine', async () => {
  const values = { files: [], set: [], setString: [], setJson: [['a', '{'] as const] };
  const install = { chart: 'web', root: '/', values, variables: new Map([['A', '1']]), arguments: [], labels: {} };
  await expect((await helm('')).open(runOf(install), call)).rejects.toMatchObject({ code: 'HELM_VALUES_INVALID' });
  expect(existsSync(join(folder, 'run', 'helm'))).toBe(false);
});
