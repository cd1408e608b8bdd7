import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const dockerfile = read('Dockerfile').replaceAll('\\\n', ' ').split('\n');
const linesOf = (instruction: string): string[] =>
  dockerfile.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1).trim());

// `npm ci` rejects a lock file if some of its workspaces are missing.
test('the image is built with every workspace of the lock file', () => {
  const workspaces = globSync('packages/*/package.json', { cwd: root }).toSorted();
  const copied = linesOf('COPY').filter((line) => line.startsWith('packages/'));
  expect(copied).toEqual(workspaces.map((file) => `${file} ${path.dirname(file)}/`));
});

test('what the image is made of is there, and not left out of the build', () => {
  const sources = linesOf('COPY')
    .filter((line) => !line.startsWith('--from='))
    .flatMap((line) =>
      line
        .split(/\s+/)
        .filter((word) => !word.startsWith('--'))
        .slice(0, -1),
    );
  expect(sources.filter((source) => !existsSync(path.join(root, source)))).toEqual([]);
  const kept = read('.dockerignore')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  expect(sources.filter((source) => !kept.some((one) => source === one || source.startsWith(`${one}/`)))).toEqual([]);
});

test('the image has a Node.js that Davit works with, and its processes are of a user by number who is not root', () => {
  const [argument = ''] = linesOf('ARG');
  const [, major = ''] = /^NODE_IMAGE=docker\.io\/library\/node:(\d+)\.\d+\.\d+-/.exec(argument) ?? [];
  const { engines }: { engines: { node: string } } = JSON.parse(read('package.json'));
  expect(`>=${major}`).toBe(engines.node);
  expect(linesOf('USER')).toEqual(['1000:1000']);
});
