import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../..');
const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'nodenext',
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  types: ['node'],
};

let server: TestServer;
let folder: string;

beforeAll(async () => {
  server = await startTestServer();
  // The folder is in the checkout, where the client finds the packages that it imports.
  await mkdir(path.join(root, '.davit'), { recursive: true });
  folder = await mkdtemp(path.join(root, '.davit/generated-client-'));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

test('a client that a public generator makes of the OpenAPI document compiles and works', { timeout: 180_000 }, async () => {
  const document = path.join(root, 'packages/contract/generated/openapi.json');
  await run('node_modules/oazapfts/dist/cli.js', [document, path.join(folder, 'client.ts')]);
  await copyFile(path.join(import.meta.dirname, 'story.mts'), path.join(folder, 'story.mts'));
  await writeFile(path.join(folder, 'package.json'), '{"type": "module"}');
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*'] }));
  await run('node_modules/.bin/tsc', ['-p', folder, '--pretty', 'false']);
  expect(await run(path.join(folder, 'story.mts'), [server.baseUrl, server.adminToken])).toBe('done\n');
});

/** Runs a program of Node.js. Returns what the program prints. Fails with the whole output if the program fails. */
function run(program: string, options: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [path.resolve(root, program), ...options], { cwd: root });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (texts.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (texts.err += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(texts.out);
      else reject(new Error(`${program} ended with ${code}:\n${texts.out}${texts.err}`));
    });
  });
}
