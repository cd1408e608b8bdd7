import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openApi, operationList, scopes, type Operation } from '@davit/contract';

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
  ]);
}

const byPath = (a: Operation, b: Operation): number =>
  `${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : `${a.path} ${a.method}` > `${b.path} ${b.method}` ? 1 : 0;

function operationsText(files: ReadonlyMap<string, string>): string {
  return operationList
    .toSorted(byPath)
    .map((one) => `${[one.id, one.method, one.path, one.scope, one.target, files.get(one.id) ?? '?'].join(' ')}\n`)
    .join('');
}

/** Which scope may do what; each contains the ones above it. */
function permissionsText(): string {
  return scopes
    .map((scope) => {
      const ids = operationList
        .filter((operation) => operation.scope === scope)
        .toSorted(byPath)
        .map(({ method, path: at, id }) => `  ${method.padEnd(6)} ${at}  (${id})\n`);
      return `${scope}\n${ids.join('')}`;
    })
    .join('\n');
}

async function declaringFiles(): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(contractSource, { recursive: true });
  const files = new Map<string, string>();
  for (const name of names.filter((file) => file.endsWith('.ts')).sort()) {
    const text = await readFile(path.join(contractSource, name), 'utf8');
    // An operation is exported under its id; a function may have made it, so that the id itself stands on no line of its own.
    for (const [, id] of text.matchAll(/^export const (\w+) = \w+\(/gm)) if (id !== undefined) files.set(id, `src/${name}`);
  }
  return files;
}
