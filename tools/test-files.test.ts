import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { leftOut, onOneEngine } from './test-files.ts';
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
  expect(onOneEngine.filter((file) => !files.includes(file))).toEqual([]);
});

test('what runs on one engine only runs on one, the other one next time, and on the only one there is', () => {
  for (const turn of [4, 5]) {
    const [docker, podman] = [leftOut(0, 2, turn), leftOut(1, 2, turn)];
    expect([...docker, ...podman].toSorted()).toEqual(onOneEngine.toSorted());
    expect(docker.length).toBeGreaterThan(10);
    expect(leftOut(0, 2, turn + 1)).toEqual(podman);
  }
  expect(leftOut(0, 1, 7)).toEqual([]);
});

test('an engine does not run what it leaves out', () => {
  const listed = (environment: NodeJS.ProcessEnv): string[] =>
    execFileSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'list', '--project', 'engine', '--filesOnly'], {
      cwd: root,
      env: { ...process.env, ...environment },
      encoding: 'utf8',
    })
      .split('\n')
      .filter((line) => line.includes('.engine.test.ts'))
      .map((line) => line.replace(/^\[engine\] /, ''))
      .toSorted();
  const left = leftOut(1, 2, 0);
  const all = listed({});
  expect(all).toEqual(expect.arrayContaining(left));
  expect(listed({ DAVIT_TEST_LEAVE_OUT: left.join(',') })).toEqual(all.filter((file) => !left.includes(file)));
});
