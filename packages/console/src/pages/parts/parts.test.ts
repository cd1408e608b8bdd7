import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const source = path.join(import.meta.dirname, '../..');
const filesIn = (folder: string): string[] => readdirSync(path.join(source, folder)).filter((name) => name.endsWith('.tsx'));
const textOf = (folder: string): string =>
  filesIn(folder)
    .map((name) => readFileSync(path.join(source, folder, name), 'utf8'))
    .join('');

test('the page of the parts shows every part', () => {
  const parts = [...textOf('parts').matchAll(/export function ([A-Z]\w*)/g)].map(([, name = '']) => name);
  const page = textOf('pages/parts');
  expect(parts.length).toBeGreaterThan(30);
  expect(parts.filter((name) => !page.includes(`<${name}`))).toEqual([]);
});
