import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createFakeCluster } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { freePort } from '@davit/testkit/site';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { alertRules, deployFolder, hasPromtool, promtoolRemedy } from './testing.ts';

/*
 * A real Prometheus with the configuration and the alerts of `deploy/prometheus` scrapes a server. Only times and the
 * target differ: the test does not wait for minutes.
 */

const local = createFakeCluster();
let server: TestServer;
let engine: Engine;
let folder: string;
let prometheus: ChildProcess | undefined;
let url: string;
let output = '';

beforeAll(async () => {
  if (!hasPromtool) return;
  // The disk of the engine is the fault: 5 of 100 GB are free.
  local.space = { folder: '/var/lib/engine', freeBytes: 5_000_000_000, totalBytes: 100_000_000_000 };
  server = await startTestServer({
    engine: (parts) => (engine = createEngine({ ...parts, drivers: { docker: local } })),
    environment: { DAVIT_METRICS_SECONDS: '1' },
  });
  await engine.start();
  folder = mkdtempSync(path.join(tmpdir(), 'davit-prometheus-'));
  const read = (name: string): string => readFileSync(path.join(deployFolder, 'prometheus', name), 'utf8');
  const target = new URL(server.baseUrl).host;
  const configuration = read('prometheus.yaml')
    .replace('127.0.0.1:4440', target)
    .replace('scrape_interval: 15s', 'scrape_interval: 1s\n  evaluation_interval: 1s');
  if (!configuration.includes(target)) throw new Error('the configuration has another target');
  writeFileSync(path.join(folder, 'prometheus.yaml'), configuration);
  writeFileSync(path.join(folder, 'alerts.yaml'), read('alerts.yaml').replaceAll(/for: \d+[mh]$/gm, 'for: 2s'));
  const port = await freePort();
  url = `http://127.0.0.1:${port}/api/v1`;
  const options = [`--config.file=prometheus.yaml`, `--storage.tsdb.path=data`, `--web.listen-address=127.0.0.1:${port}`];
  prometheus = spawn('prometheus', options, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  prometheus.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
});
afterAll(async () => {
  if (!hasPromtool) return;
  const exited = new Promise((resolve) => prometheus?.once('exit', resolve));
  prometheus?.kill('SIGKILL');
  await exited;
  await engine.stop();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Rule {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly state: string;
}

async function read<Data>(what: string): Promise<Data | null> {
  const response = await fetch(`${url}/${what}`).catch(() => null);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as Prometheus documents it
  return response?.ok === true ? ((await response.json()) as { readonly data: Data }).data : null;
}

const rules = async (): Promise<readonly Rule[]> =>
  (await read<{ groups: readonly { rules: readonly Rule[] }[] }>('rules'))?.groups.flatMap((group) => group.rules) ?? [];

test.skipIf(!hasPromtool)(
  `Prometheus scrapes a server, evaluates all alerts, and fires the one for its fault${promtoolRemedy}`,
  async () => {
    const health = async () =>
      (await read<{ activeTargets: readonly { health: string; lastError: string }[] }>('targets'))?.activeTargets.map(
        (target) => `${target.health} ${target.lastError}`,
      ) ?? output.slice(-2000);
    await expect.poll(health, { timeout: 60_000 }).toEqual(['up ']);
    const evaluated = async () => (await rules()).map((rule) => `${rule.name} ${rule.health} ${rule.lastError ?? ''}`);
    await expect.poll(evaluated, { timeout: 60_000 }).toEqual(alertRules().map(({ alert }) => `${alert} ok `));
    const firing = async () => (await rules()).filter(({ state }) => state === 'firing').map(({ name }) => name);
    await expect.poll(firing, { timeout: 60_000 }).toContain('DavitDiskAlmostFull');
    local.space = { folder: '/var/lib/engine', freeBytes: 50_000_000_000, totalBytes: 100_000_000_000 };
    await expect.poll(firing, { timeout: 60_000 }).not.toContain('DavitDiskAlmostFull');
  },
);
