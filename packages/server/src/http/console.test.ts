import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Fastify from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Console } from './console.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-console-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a server without a console says so, and serves the console once it was built', async () => {
  const app = Fastify();
  new Console(path.join(folder, 'dist')).addTo(app);
  const before = await app.inject('/console/');
  expect(before.statusCode).toBe(503);
  expect(before.body).toContain('is not built');
  await mkdir(path.join(folder, 'dist/assets'), { recursive: true });
  await writeFile(path.join(folder, 'secret.js'), 'secret');
  await writeFile(path.join(folder, 'dist/assets/a-1.js'), 'a');
  await writeFile(path.join(folder, 'dist/index.html'), '<!doctype html>');
  for (const address of ['/console', '/console/', '/console/environment/1']) {
    expect(await app.inject(address)).toMatchObject({ statusCode: 200, body: '<!doctype html>' });
  }
  const script = await app.inject('/console/assets/a-1.js');
  expect([script.body, script.headers['cache-control']]).toEqual(['a', 'public, max-age=31536000, immutable']);
  expect((await app.inject('/console/assets/a-2.js')).statusCode).toBe(404);
  expect((await app.inject('/console/..%2fsecret.js')).body).not.toBe('secret');
  await app.close();
});
