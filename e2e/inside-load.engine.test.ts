import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { node, TestSetup } from './support/setup.ts';

/** Ends each kept connection with the answer to its next request, as programs do that lose none. */
const server = `
const http = require('node:http');
let isEnding = false;
const server = http.createServer((request, response) => {
  if (isEnding) response.setHeader('connection', 'close');
  response.end(process.env.VERSION + ' ' + require('node:os').hostname());
});
server.closeIdleConnections = () => undefined;
server.keepAliveTimeout = 0;
server.listen(3000);
process.on('SIGTERM', () => {
  isEnding = true;
  server.close(() => process.exit(0));
});
`;

/**
 * Resolves the name of its upstream once, as proxies do, and then sends requests until it ends. Answers with what
 * it saw.
 */
const proxy = `
const http = require('node:http');
const seen = { succeeded: 0, failures: [], versions: {} };
const one = (host, agent) => new Promise((resolve) => {
  const fail = (error) => { seen.failures.push((agent ? 'kept: ' : 'new: ') + error.message); resolve(); };
  const sent = http.request({ host, port: 3000, agent, timeout: 20000 }, (response) => {
    let body = '';
    response.on('data', (chunk) => (body += chunk));
    response.on('error', fail);
    response.on('end', () => { seen.succeeded += 1; seen.versions[body] = (seen.versions[body] ?? 0) + 1; resolve(); });
  });
  sent.on('timeout', () => sent.destroy(new Error('no answer')));
  sent.on('error', fail);
  sent.end();
});
require('node:dns').lookup('upstream', async (error, host) => {
  if (error) throw error;
  const client = async (agent) => { for (;;) await one(host, agent); };
  for (let count = 0; count < 6; count += 1) void client(new http.Agent({ keepAlive: true, maxSockets: 1 }));
  for (let count = 0; count < 2; count += 1) void client(false);
});
http.createServer((_, response) => response.end(JSON.stringify(seen))).listen(3000);
process.on('SIGTERM', () => process.exit(0));
`;

interface Seen {
  readonly succeeded: number;
  readonly failures: readonly string[];
  /** Number of answers by version and instance. */
  readonly versions: Readonly<Record<string, number>>;
}

/** Returns how many requests each instance of a version answered. */
function requestsTo({ versions }: Seen, version: number): number[] {
  return Object.entries(versions).flatMap(([answer, count]) => (answer.startsWith(`${version} `) ? [count] : []));
}

const wanted = 10_000;

describe.each(testEngineKinds())('on %s', (kind) => {
  let setup: TestSetup;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_SERVICE_ADDRESSES: 'true' });
    await setup.loadNode();
  });
  afterAll(async () => {
    await setup?.close();
  });

  test(`${wanted} requests between two services during three redeploys: none fails, and both instances serve`, async () => {
    const files = (text: string) => ({
      Dockerfile: `FROM ${node}\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': text,
    });
    const port = { internal_port: 3000, protocol: 'HTTP' as const };
    const upstream = await setup.application('upstream', setup.repository('upstream', files(server)).url, {
      ports: [{ ...port, publicly_accessible: false }],
      memory: 128,
      min_running_instances: 2,
      max_running_instances: 2,
    });
    const params = { applicationId: upstream };
    const created = { params, body: { key: 'VERSION', value: '0' } };
    const variable = await setup.davit.client.call('createApplicationEnvironmentVariable', created);
    await setup.deploy(upstream);
    const downstream = await setup.application('downstream', setup.repository('downstream', files(proxy)).url, {
      ports: [{ ...port, publicly_accessible: true }],
      memory: 128,
    });
    await setup.deploy(downstream);
    const link = await setup.link(downstream);
    const seen = async (): Promise<Seen> => JSON.parse((await setup.fetch(link)).body) as Seen; // oxlint-disable-line typescript/no-unsafe-type-assertion -- the proxy's own format
    for (let version = 1; version <= 3; version += 1) {
      await setup.davit.client.call('editApplicationEnvironmentVariable', {
        params: { ...params, environmentVariableId: variable.id },
        body: { key: 'VERSION', value: String(version) },
      });
      const before = await setup.latest(upstream);
      await setup.davit.client.call('redeployApplication', { params });
      expect((await setup.ends(upstream, before)).state).toBe('DEPLOYED');
      await eventually(
        async () => requestsTo(await seen(), version).some((count) => count > 100) || undefined,
        `${version} serves`,
      );
    }
    await eventually(async () => (await seen()).succeeded >= wanted || undefined, `${wanted} requests`, 120_000);
    const result = await seen();
    expect(result.failures).toEqual([]);
    for (const version of [0, 1, 2, 3]) expect(requestsTo(result, version)).toHaveLength(2);
  });
});
