import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { startLoad } from './support/load.ts';
import { node, TestSetup } from './support/setup.ts';

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
  let setup: TestSetup;
  beforeAll(async () => {
    setup = await TestSetup.open(kind);
    await setup.loadNode();
  });
  afterAll(async () => {
    await setup?.close();
  });

  test(`${wanted} requests through the gateway during five redeploys: none fails`, async () => {
    const { url } = setup.repository('load', {
      Dockerfile: `FROM ${node}\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': server,
    });
    const id = await setup.application('load', url, {
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      memory: 128,
      min_running_instances: 2,
      max_running_instances: 2,
    });
    const params = { applicationId: id };
    const variable = await setup.davit.client.call('createApplicationEnvironmentVariable', {
      params,
      body: { key: 'VERSION', value: '0' },
    });
    await setup.deploy(id);
    const load = startLoad(await setup.link(id));
    for (let version = 1; version <= 5; version += 1) {
      const body = { key: 'VERSION', value: String(version) };
      await setup.davit.client.call('editApplicationEnvironmentVariable', {
        params: { ...params, environmentVariableId: variable.id },
        body,
      });
      const before = await setup.latest(id);
      await setup.davit.client.call('redeployApplication', { params });
      expect((await setup.ends(id, before)).state).toBe('DEPLOYED');
      expect((await setup.fetch(await setup.link(id))).body).toBe(String(version));
    }
    const result = await load.end(wanted);
    expect(result.failures).toEqual([]);
    expect(result.succeeded).toBeGreaterThanOrEqual(wanted);
    expect([...result.versions].sort()).toEqual(['0', '1', '2', '3', '4', '5']);
  });
});
