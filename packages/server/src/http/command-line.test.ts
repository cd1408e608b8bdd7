import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fastify } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addCommandLine } from './command-line.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-command-line-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a server without the command line says so, and serves it once it was built', async () => {
  const app = fastify();
  const file = path.join(folder, 'davit.mjs');
  addCommandLine(app, file);
  const before = await app.inject('/cli/davit.mjs');
  expect(before.statusCode).toBe(503);
  expect(before.body).toContain('npm run build --workspace=@davit/cli');
  await writeFile(file, '#!/usr/bin/env node\n');
  const after = await app.inject('/cli/davit.mjs');
  expect(after).toMatchObject({ statusCode: 200, body: '#!/usr/bin/env node\n' });
  const again = await app.inject({ url: '/cli/davit.mjs', headers: { 'if-none-match': String(after.headers['etag']) } });
  expect(again.statusCode).toBe(304);
  await app.close();
});
