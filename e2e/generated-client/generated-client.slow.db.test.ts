import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

/*
 * Clients that public generators make of the OpenAPI document. Each is compiled with a story that uses its types; then
 * the story runs against a server.
 */

const root = path.join(import.meta.dirname, '../..');
const document = path.join(root, 'packages/contract/generated/openapi.json');
const generators = 'packages/testkit/node_modules/.bin';
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
/**
 * For generators whose own helpers do not compile with `exactOptionalPropertyTypes`, whatever the document has:
 * oazapfts, and @hey-api/openapi-ts (https://github.com/hey-api/hey-api/issues/2236).
 */
let looser: string;

beforeAll(async () => {
  server = await startTestServer();
  // The folders are in the checkout, where the clients find the packages that they import.
  await mkdir(path.join(root, '.davit'), { recursive: true });
  folder = await mkdtemp(path.join(root, '.davit/generated-client-'));
  looser = path.join(folder, 'looser');
  await mkdir(looser);
  await writeFile(path.join(folder, 'package.json'), '{"type": "module"}');
  await project(folder, ['openapi-typescript', 'orval'], { exactOptionalPropertyTypes: true });
  await project(looser, ['oazapfts', 'hey-api'], {});
  await Promise.all([oazapfts(), openapiTypescript(), orval(), heyApi()]);
}, 180_000);
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

test('the clients of four public generators compile under strict rules', { timeout: 180_000 }, async () => {
  for (const clients of [folder, looser])
    expect(await run('node_modules/.bin/tsc', ['-p', clients, '--pretty', 'false'])).toBe('');
});

test('each generated client works', { timeout: 180_000 }, async () => {
  const stories = ['openapi-typescript', 'orval', 'looser/oazapfts', 'looser/hey-api'].map((name) =>
    path.join(folder, `${name}.mts`),
  );
  const printed = stories.map((story) => run(story, [server.baseUrl, server.adminToken]));
  expect(await Promise.all(printed)).toEqual(stories.map(() => 'done\n'));
});

/** Prepares a folder for the compiler, with stories. */
async function project(target: string, stories: readonly string[], options: object): Promise<void> {
  for (const story of stories) await copyFile(path.join(import.meta.dirname, `${story}.mts`), path.join(target, `${story}.mts`));
  const configuration = { compilerOptions: { ...compilerOptions, ...options }, include: ['*'] };
  await writeFile(path.join(target, 'tsconfig.json'), JSON.stringify(configuration));
}

async function oazapfts(): Promise<void> {
  await run('node_modules/oazapfts/dist/cli.js', [document, path.join(looser, 'oazapfts.ts')]);
}

async function openapiTypescript(): Promise<void> {
  await run(`${generators}/openapi-typescript`, [document, '-o', path.join(folder, 'openapi-typescript.ts')]);
}

async function orval(): Promise<void> {
  const output = { target: path.join(folder, 'orval.ts'), client: 'fetch', mode: 'single', baseUrl: server.baseUrl };
  const config = await settings('orval.config.mjs', { davit: { input: { target: document }, output } });
  await run(`${generators}/orval`, ['--config', config]);
}

async function heyApi(): Promise<void> {
  const output = { path: path.join(looser, 'hey-api'), module: { extension: '.ts' } };
  const plugins = ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'];
  const config = await settings('hey-api.config.mjs', { input: document, output, plugins, logs: { file: false } });
  await run(`${generators}/openapi-ts`, ['-f', config]);
}

/** Writes the settings of a generator. Returns the path of the file. */
async function settings(name: string, values: object): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, `export default ${JSON.stringify(values)};\n`);
  return file;
}

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
