import { Agent, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { node, Stage } from './support/stage.ts';

const server = `
const http = require('node:http');
const server = http.createServer((request, response) => {
  request.resume();
  request.on('end', () => response.end(process.env.VERSION));
});
server.listen(3000);
process.on('SIGTERM', () => server.close(() => process.exit(0)));
`;
const wanted = 10_000;

describe.each(testEngineKinds())('on %s', (kind) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open(kind);
    await stage.loadNode();
  });
  afterAll(async () => {
    await stage?.close();
  });

  test(`${wanted} requests through the gateway during five redeploys: none fails`, async () => {
    const { url } = stage.repository('load', {
      Dockerfile: `FROM ${node}\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': server,
    });
    const id = await stage.application('load', url, {
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      memory: 128,
      min_running_instances: 2,
      max_running_instances: 2,
    });
    const params = { applicationId: id };
    const variable = await stage.davit.client.call('createApplicationEnvironmentVariable', {
      params,
      body: { key: 'VERSION', value: '0' },
    });
    await stage.deploy(id);
    const load = startLoad(await stage.link(id));
    for (let version = 1; version <= 5; version += 1) {
      const body = { key: 'VERSION', value: String(version) };
      await stage.davit.client.call('editApplicationEnvironmentVariable', {
        params: { ...params, environmentVariableId: variable.id },
        body,
      });
      const before = await stage.latest(id);
      await stage.davit.client.call('redeployApplication', { params });
      expect((await stage.ends(id, before)).state).toBe('DEPLOYED');
      expect((await stage.fetch(await stage.link(id))).body).toBe(String(version));
    }
    const result = await load.end(wanted);
    expect(result.failures).toEqual([]);
    expect(result.succeeded).toBeGreaterThanOrEqual(wanted);
    expect([...result.versions].sort()).toEqual(['0', '1', '2', '3', '4', '5']);
  });
});

interface LoadResult {
  readonly succeeded: number;
  readonly failures: readonly string[];
  readonly versions: ReadonlySet<string>;
}

/** Ten clients with keep-alive and two without, GET and POST, one request after the other each. */
function startLoad(address: string): { end(atLeast: number): Promise<LoadResult> } {
  const { hostname, port } = new URL(address);
  const failures: string[] = [];
  const versions = new Set<string>();
  let succeeded = 0;
  let until = Number.POSITIVE_INFINITY;
  const agents = [
    ...Array.from({ length: 10 }, () => new Agent({ keepAlive: true, maxSockets: 1 })),
    false as const,
    false as const,
  ];
  const one = (agent: Agent | false, method: string): Promise<void> =>
    new Promise((resolve) => {
      const fail = (reason: string): void => {
        failures.push(reason);
        resolve();
      };
      const sent = request({ host: '127.0.0.1', port, method, agent, headers: { host: `${hostname}:${port}` } }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('error', (error) => fail(error.message));
        response.on('end', () => {
          if (response.statusCode !== 200) return fail(`status ${response.statusCode}: ${body.slice(0, 200)}`);
          versions.add(body);
          succeeded += 1;
          resolve();
        });
      });
      sent.on('error', (error) => fail(error.message));
      // An answer that never comes is a lost request too.
      sent.setTimeout(30_000, () => sent.destroy(new Error(`no answer to ${method} within 30 s`)));
      sent.end(method === 'POST' ? 'x'.repeat(1_000) : undefined);
    });
  const client = async (agent: Agent | false, index: number): Promise<void> => {
    for (let count = index; succeeded + failures.length < until; count += 1) await one(agent, count % 3 === 0 ? 'POST' : 'GET');
    if (agent !== false) agent.destroy();
  };
  const clients = agents.map((agent, index) => client(agent, index));
  return {
    end: async (atLeast) => {
      until = atLeast;
      await Promise.all(clients);
      return { succeeded, failures, versions };
    },
  };
}
