import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApi, operationList } from '@davit/contract';
import { missingOperations } from '@davit/testkit/public-description';
import { byPath, permissionsText } from './permissions.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const contractSource = path.join(root, 'packages/contract/src');

/** Where the generated files are, beside the declarations that they come from. */
export const generatedFolder = path.join(root, 'packages/contract/generated');

/** The generated files by name: for review, and for who reads the API without running it. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const { version }: { version: string } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  return new Map([
    ['openapi.json', `${JSON.stringify(openApi(operationList.toSorted(byPath), version), null, 2)}\n`],
    ['operations.txt', operationsText(await declaringFiles())],
    ['permissions.txt', permissionsText()],
    ['missing.txt', missingText(await readFile(path.join(generatedFolder, 'missing.txt'), 'utf8'))],
  ]);
}

/**
 * The operations of the public description that are not served, without those that are by now. Never one more: what was served
 * and is no longer fails the test that compares this list, until somebody writes it down by hand.
 */
function missingText(committed: string): string {
  const listed = new Set(committed.split('\n'));
  return missingOperations(operationList)
    .filter((line) => listed.has(line))
    .map((line) => `${line}\n`)
    .join('');
}

function operationsText(files: ReadonlyMap<string, string>): string {
  return operationList
    .toSorted(byPath)
    .map((one) => `${[one.id, one.method, one.path, one.scope, one.target, files.get(one.id) ?? '?'].join(' ')}\n`)
    .join('');
}

// They only gather what the others declare.
const gathering = new Set(['index.ts', 'operations.ts']);

/** The file whose exports hold an operation, be it alone or in what a function of the contract made. */
async function declaringFiles(): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(contractSource, { recursive: true });
  const files = new Map<string, string>();
  for (const name of names.filter((file) => /(?<!\.test)\.ts$/.test(file) && !gathering.has(file)).sort()) {
    const module: unknown = await import(path.join(contractSource, name));
    for (const id of operationIds(module)) files.set(id, `src/${name}`);
  }
  return files;
}

function operationIds(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  if ('id' in value && typeof value.id === 'string' && 'method' in value) return [value.id];
  return Object.values(value).flatMap(operationIds);
}
