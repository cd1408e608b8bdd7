import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
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
  addCommandLine(app, '1.2.3', file);
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

test('npm installs the command line from the address of the server, and the command runs', async () => {
  const app = fastify();
  const file = path.join(folder, 'installed.mjs');
  addCommandLine(app, '1.2.3', file);
  expect((await app.inject('/cli/davit.tgz')).statusCode).toBe(503);
  await writeFile(file, "#!/usr/bin/env node\nconsole.log('davit runs');\n");
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const run = promisify(execFile);
  const options = ['--prefix', path.join(folder, 'prefix'), '--cache', path.join(folder, 'cache'), '--no-audit', '--no-fund'];
  await run('npm', ['install', '--global', ...options, `${address}/cli/davit.tgz`], { cwd: folder });
  const ran = await run(path.join(folder, 'prefix/bin/davit'), []);
  expect(ran.stdout).toBe('davit runs\n');
  const listed = await run('npm', ['list', '--global', '--json', ...options], { cwd: folder });
  expect(JSON.parse(listed.stdout)).toMatchObject({ dependencies: { davit: { version: '1.2.3' } } });
  const { headers } = await app.inject('/cli/davit.tgz');
  const again = await app.inject({ url: '/cli/davit.tgz', headers: { 'if-none-match': String(headers['etag']) } });
  expect(again.statusCode).toBe(304);
  await app.close();
});
