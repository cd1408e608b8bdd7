import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isTest } from './import-rules.ts';
import type { Sources } from './imports.ts';

/* Checks that source files stay short enough to be read at once. A longer one has two subjects: split it there. */

export interface LongFile {
  readonly file: string;
  readonly lines: number;
}

const maxLines = 400;

/** Returns the files with too many lines. Tests may be longer: their stories stand beside each other. Pure. */
export function findLongFiles(sources: Sources): LongFile[] {
  return [...sources]
    .map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ file, lines }) => lines > maxLines && !isTest(file));
}

/** Checks this checkout. */
export function checkLengths(): LongFile[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync(['packages/*/src/**/*.{ts,tsx}', 'e2e/**/*.ts', 'bench/**/*.ts', 'tools/**/*.ts'], { cwd: root });
  const own = files.filter((file) => !file.includes('/generated/'));
  return findLongFiles(new Map(own.map((file) => [file, readFileSync(path.join(root, file), 'utf8')])));
}
