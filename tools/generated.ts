import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApi, operationList } from '@davit/contract';
import { exampleOf } from '@davit/contract/examples';
import { missingOperations } from '@davit/testkit/public-description';
import { byPath, permissionsText } from './permissions.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const contractSource = path.join(root, 'packages/contract/src');

/** The folder of the generated files, next to the declarations from which they are generated. */
export const generatedFolder = path.join(root, 'packages/contract/generated');

/** Returns the generated files by name. They are for reviewers, and for readers who do not run the API. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const { version }: { version: string } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const requestOf = (id: string): unknown => exampleOf(id)?.request;
  return new Map([
    ['openapi.json', `${JSON.stringify(openApi(operationList.toSorted(byPath), version, { requestOf }), null, 2)}\n`],
    ['operations.txt', operationsText(await declaringFiles())],
    ['permissions.txt', permissionsText()],
    ['missing.txt', missingText(await readFile(path.join(generatedFolder, 'missing.txt'), 'utf8'))],
  ]);
}

/**
 * Returns the committed list of missing operations (operations of the public description that are not served) without
 * those that are served by now. No operation is ever added: if an operation is no longer served, the test that compares
 * this list fails until somebody adds the operation by hand.
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

// These files only collect the declarations of the other files.
const gathering = new Set(['index.ts', 'operations.ts']);

/** Returns the file that exports each operation, either alone or in the result of one of the contract's functions. */
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
