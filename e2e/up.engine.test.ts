import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startTestEngine, testEngineKinds } from '@davit/testkit/engines';
import { expect, test } from 'vitest';

const root = path.resolve(import.meta.dirname, '..');

// Tests `./up` once Node.js, npm packages and programs are present. `./test` runs on machines that have them.
test.each(testEngineKinds())(
  './up on %s: the example answers, a second run is quick, and down leaves nothing running',
  async (kind) => {
    const engine = await startTestEngine(kind);
    const home = await mkdtemp(path.join(tmpdir(), 'davit-up-'));
    await chmod(home, 0o711);
    const environment = {
      ...process.env,
      DAVIT_HOME: home,
      DAVIT_PORT: String(await freePort()),
      DAVIT_GATEWAY_PORT: String(await freePort()),
      DAVIT_LEAST_FREE_DISK_MIB: '0',
      DOCKER_HOST: `unix://${engine.socketPath}`,
    };
    const up = (...options: string[]): Promise<string> => run('./up', options, environment);
    try {
      const started = performance.now();
      const first = await up();
      const firstTook = performance.now() - started;
      expect(first).toContain('created application hello-node');
      expect(first).toMatch(/Hello from \w+, an instance that Davit runs/);
      expect(first).toContain(path.join(home, 'admin-token'));

      const began = performance.now();
      const second = await up();
      expect(performance.now() - began).toBeLessThan(firstTook / 3);
      expect(second).toContain('the newest commit is deployed already');
      expect(second).not.toContain('created');

      const server = Number(await readFile(path.join(home, 'serve.pid'), 'utf8'));
      const gateway = Number(await readFile(path.join(home, 'gateway', 'pid'), 'utf8'));
      expect(await up('down')).toContain('stopped');
      expect([server, gateway].map(commandOf)).toEqual(['', '']);
    } finally {
      await up('down');
      await rm(home, { recursive: true, force: true });
    }
  },
);

// Returns an empty text once the process has exited, even if its exit code has not been collected yet.
function commandOf(pid: number): string {
  return existsSync(`/proc/${pid}/cmdline`) ? readFileSync(`/proc/${pid}/cmdline`, 'utf8') : '';
}

function run(program: string, options: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, options, { cwd: root, env: environment }, (error, output, errors) => {
      if (error === null) resolve(output);
      else reject(new Error(`${program} ${options.join(' ')} failed:\n${output}${errors}`));
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  await new Promise((resolve) => server.close(resolve));
  return port ?? 0;
}
