import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestDatabase } from '@davit/testkit/database';
import { expect, test } from 'vitest';

const cli = fileURLToPath(new URL('cli.ts', import.meta.url));

test('a server whose log is on a full disk works, and says so', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'davit-full-log-'));
  const database = await createTestDatabase();
  const full = openSync('/dev/full', 'w');
  const env = {
    PATH: process.env['PATH'],
    DAVIT_HOME: path.join(folder, 'home'),
    DAVIT_ROLE: 'api',
    DAVIT_PORT: '0',
    DATABASE_URL: database.connectionString,
    DOCKER_HOST: `unix://${path.join(folder, 'none.sock')}`,
  };
  const server = spawn(process.execPath, [cli, 'serve'], { env, stdio: ['ignore', 'pipe', full] });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  try {
    let text = '';
    server.stdout?.on('data', (part: Buffer) => (text += part.toString()));
    const address = (): string => /answers at (\S+)/.exec(text)?.[1] ?? '';
    await expect.poll(address, { timeout: 90_000 }).not.toBe('');
    const ready = await (await fetch(`${address()}/readyz?verbose`)).text();
    expect(JSON.parse(ready)).toMatchObject({
      status: 'ready',
      checks: {
        database: { state: 'ok' },
        state_folder: { free_bytes: expect.any(Number) },
        log: { state: 'failing', error: 'ENOSPC', dropped_lines: expect.any(Number) },
      },
    });
    const metrics = await (await fetch(`${address()}/metrics`)).text();
    expect(Number(/^davit_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(metrics).toMatch(/^davit_state_folder_free_bytes \d+$/m);
    expect(JSON.parse(await (await fetch(`${address()}/readyz`)).text())).toEqual({ status: 'ready' });
    expect(server.exitCode).toBeNull();
  } finally {
    server.kill('SIGTERM');
    await ended;
    closeSync(full);
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
  // A separate process takes some time to start on a busy machine.
}, 120_000);
