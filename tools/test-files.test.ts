import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { onOneEngine } from './test-files.ts';
import { projects } from './test-projects.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = globSync('{packages,tools,bench,e2e}/**/*.test.ts', { cwd: root, exclude: ['**/node_modules'] });
const matches = (file: string, globs: readonly string[] = []): boolean => globs.some((glob) => path.matchesGlob(file, glob));

test('each test file belongs to one project, so that none is left out and none runs twice', () => {
  expect(projects.length).toBeGreaterThan(5);
  const homes = files.map((file) => {
    const found = projects.filter(({ test: { include, exclude } = {} }) => matches(file, include) && !matches(file, exclude));
    return { file, count: found.length };
  });
  expect(homes.filter(({ count }) => count !== 1)).toEqual([]);
});

test('each name of what runs on one engine only is that of a test', () => {
  const unknown = onOneEngine.filter((glob) => !files.some((file) => path.matchesGlob(file, glob)));
  expect(unknown).toEqual([]);
});

test('the second engine of a run does not run them', () => {
  const listed = (environment: NodeJS.ProcessEnv): string[] =>
    execFileSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'list', '--project', 'engine', '--filesOnly'], {
      cwd: root,
      env: { ...process.env, ...environment },
      encoding: 'utf8',
    })
      .split('\n')
      .filter((line) => line.includes('.engine.test.ts'));
  const isOnOne = (line: string): boolean => matches(line.replace(/^\[engine\] /, ''), onOneEngine);
  expect(listed({}).filter(isOnOne).length).toBeGreaterThan(10);
  const second = listed({ DAVIT_TEST_LEAVE_OUT_ONE_ENGINE: '1' });
  expect(second.length).toBeGreaterThan(10);
  expect(second.filter(isOnOne)).toEqual([]);
});
