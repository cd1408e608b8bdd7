import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { operationList } from '@davit/contract';
import { expect, test } from 'vitest';
import { generated, generatedFolder } from './generated.ts';

test('the generated files are those of the contract as it is now', async () => {
  for (const [name, text] of await generated()) {
    const committed = await readFile(path.join(generatedFolder, name), 'utf8');
    expect(committed === text, `${name} is stale: run npm run generate`).toBe(true);
  }
});

test('each operation stands in the list with its file', async () => {
  const text = (await generated()).get('operations.txt') ?? '';
  const lines = text.trim().split('\n');
  expect(lines).toHaveLength(operationList.length);
  expect(lines.filter((line) => line.endsWith(' ?'))).toEqual([]);
});

/** Operations whose answers may hold what lets their reader in somewhere. */
const showsCredentials = /ApiToken|Kubeconfig/;

test('a secret or a credential is readable with no scope below what wrote it', () => {
  const credentials = operationList.filter(({ id }) => showsCredentials.test(id));
  expect(credentials.length).toBeGreaterThan(3);
  expect(credentials.map(({ scope }) => scope)).toEqual(credentials.map(() => 'ADMIN'));
});

test('reading needs no more than READ and changing no less than DEPLOY', () => {
  const reads = operationList.filter(({ method, id }) => method === 'GET' && !showsCredentials.test(id));
  expect(reads.filter(({ scope }) => scope !== 'READ').map(({ id }) => id)).toEqual([]);
  const changes = operationList.filter(({ method }) => method !== 'GET');
  expect(changes.filter(({ scope }) => scope === 'READ').map(({ id }) => id)).toEqual([]);
});
