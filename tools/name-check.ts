import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'oxc-parser';
import { isTest } from './import-rules.ts';
import type { Sources } from './imports.ts';

/* Checks the words of which names consist: docs/glossary.md, "Former words", lists those that are not used any more. */

export interface NameProblem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

const advice: Readonly<Record<string, string>> = {
  place: 'say ids, reference, location or folder',
  room: 'say context or dependencies',
  scene: 'say change',
  world: 'say fixture',
  tell: 'say report, log, send or return',
  hear: 'say receive',
  said: 'say output, written or reported',
  deaf: 'say unresponsive',
  wish: 'say choice or request',
};
const words = new Map(
  [
    ['place', 'places'],
    ['room', 'rooms'],
    ['scene', 'scenes'],
    ['world', 'worlds'],
    ['tell', 'tells', 'told', 'telling', 'teller'],
    ['hear', 'hears', 'heard', 'unheard', 'hearing'],
    ['said'],
    ['deaf'],
    ['wish', 'wishes'],
  ].flatMap((forms) => forms.map((form) => [form, advice[forms[0] ?? ''] ?? ''] as const)),
);

/** Returns the names with refused words in the given files, each where it stands first. Pure. */
export function findNameProblems(sources: Sources): NameProblem[] {
  return [...sources].flatMap(([file, text]) => (isTest(file) ? [] : problemsOf(file, text)));
}

function problemsOf(file: string, text: string): NameProblem[] {
  const found = new Map<string, NameProblem>();
  const read = ({ name, start }: { readonly name: string; readonly start: number }): void => {
    const word = wordsOf(name).find((one) => words.has(one));
    if (word === undefined || found.has(name)) return;
    const line = text.slice(0, start).split('\n').length;
    found.set(name, { file, line, message: `the name ${name} has the word "${word}": ${words.get(word) ?? ''}` });
  };
  new Visitor({ Identifier: read, PrivateIdentifier: read, JSXIdentifier: read }).visit(parseSync(file, text).program);
  return [...found.values()];
}

/** Returns the words of a name in lower case: `tellEnvironments` has two. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_$]+/);
}

/** Checks this checkout. */
export function checkNames(): NameProblem[] {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const files = globSync('packages/*/src/**/*.{ts,tsx}', { cwd: root }).filter((file) => !file.includes('/generated/'));
  return findNameProblems(new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')])));
}
