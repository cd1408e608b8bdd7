import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

interface Entry {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const file = path.join(import.meta.dirname, '..', 'package-lock.json');
const { packages }: { packages: Readonly<Record<string, Entry>> } = JSON.parse(readFileSync(file, 'utf8'));

// npm drops packages that a registry lacks from the lock file, and `npm ci` then rejects the lock file everywhere.
test('the lock file has the packages of all platforms', () => {
  const missing = Object.entries(packages).flatMap(([location, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {}).filter(
      (name) => packages[`${location}/node_modules/${name}`] === undefined && packages[`node_modules/${name}`] === undefined,
    ),
  );
  expect(missing).toEqual([]);
});

test('the lock file names no registry', () => {
  const named = Object.entries(packages).filter(([, { resolved }]) => resolved?.startsWith('http'));
  expect(named).toEqual([]);
});
