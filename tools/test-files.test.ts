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
