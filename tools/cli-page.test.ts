import { readFile } from 'node:fs/promises';
import { helpOfCommands } from '@davit/cli';
import { expect, test } from 'vitest';
import { cliPage, cliPageFile } from './cli-page.ts';

test('the page of the command line has the help of each command; npm run generate writes it', async () => {
  expect(await readFile(cliPageFile, 'utf8')).toBe(await cliPage());
});

test('the help of each command has an example, and no line is too wide', () => {
  for (const [route, help] of helpOfCommands()) {
    const hasExample = /USAGE\n {2}davit [^\n]*\n {4}\S/.test(help);
    const isNarrow = help.split('\n').every(({ length }) => length <= 120);
    expect({ route, hasExample, isNarrow }).toEqual({ route, hasExample: true, isNarrow: true });
  }
});
