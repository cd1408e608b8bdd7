import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { node, TestSetup } from './support/setup.ts';

/** Each request takes ten milliseconds of processor time. An instance has a tenth of a processor. */
const server = `
const http = require('node:http');
const server = http.createServer((request, response) => {
  const until = performance.now() + 10;
  while (performance.now() < until);
  request.resume();
  request.on('end', () => response.end('done'));
});
server.listen(3000);
process.on('SIGTERM', () => server.close(() => process.exit(0)));
`;

describe.each(testEngineKinds())('on %s', (kind) => {
  let setup: TestSetup;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_METRICS_SECONDS: '1', DAVIT_SCALE_DOWN_SECONDS: '10' });
    await setup.loadNode();
  });
  afterAll(async () => {
    await setup?.close();
  });

  test('instances come under load, stay through a restart of Davit and of the service, and go when it is over; no request is lost', async () => {
    const { url } = setup.repository('burning', {
      Dockerfile: `FROM ${node}\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': server,
    });
    const id = await setup.application('burning', url, {
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      cpu: 100,
      memory: 128,
      min_running_instances: 1,
      max_running_instances: 3,
    });
    const params = { applicationId: id };
    // The target is low, so that it is reached on a busy machine.
    const body = { 'hpa.cpu.average_utilization_percent': 30 };
    await setup.davit.client.call('editAdvancedSettings', { params, body });
    await setup.deploy(id);
    expect(await setup.status(id)).toMatchObject({ running_instances: 1, wanted_instances: 1 });
    const numbers = async (): Promise<string> => {
      // The pause limits the load on the busy machine. A server that is starting or overloaded returns an error.
      await pause(200);
      const status = await setup.status(id).catch(() => null);
      if (status === null) return 'no answer';
      const { wanted_instances: wanted, running_instances: running } = status;
      return `${wanted} wanted, ${running} running, ${(await setup.containers(id)).length} containers`;
    };
    const runs = async (count: number, when: string): Promise<void> => {
      const wanted = `${count} wanted, ${count} running, ${count} containers`;
      try {
        await eventually(async () => ((await numbers()) === wanted ? true : undefined), when, 120_000);
      } catch (error) {
        const { scaling } = await setup.davit.client.call('getApplicationMetrics', { params });
        throw new Error(`${await numbers()}; ${JSON.stringify(scaling)}`, { cause: error });
      }
    };
    /**
     * Kills the server while the number of instances differs from the wanted number, if such a moment can be caught,
     * and starts the server again.
     */
    const killWhileScaling = async (end: number): Promise<void> => {
      await eventually(
        async () => {
          const status = await setup.status(id).catch(() => null);
          if (status === null) return undefined;
          const { wanted_instances: wanted, running_instances: running } = status;
          const there = (await setup.containers(id)).length;
          return (wanted !== 1 || end === 1) && (wanted !== running || wanted !== there || wanted === end) ? true : undefined;
        },
        'a change of the number of instances',
        120_000,
      );
      await setup.davit.kill();
      await setup.davit.serve();
    };
    const load = new Load(await setup.link(id));
    load.clients(8);
    await killWhileScaling(3);
    await runs(3, 'three instances');
    await setup.davit.kill();
    await setup.davit.serve();
    await runs(3, 'three instances after a kill');
    const before = await setup.latest(id);
    await setup.davit.client.call('rebootApplication', { params });
    expect((await setup.ends(id, before)).state).toBe('RESTARTED');
    await runs(3, 'three instances of the new rollout');
    load.calm();
    await killWhileScaling(1);
    await runs(1, 'one instance');
    const { succeeded, failures } = await load.end();
    expect(failures).toEqual([]);
    expect(succeeded).toBeGreaterThan(200);
    const { scaling, results } = await setup.davit.client.call('getApplicationMetrics', { params });
    expect(scaling[0]).toMatchObject({ to: 1, reason: expect.stringContaining('would have been needed') });
    expect(scaling.at(-1)).toMatchObject({ from: 1, reason: expect.stringContaining('cpu is at') });
    expect(Math.max(...results.map((step) => step.maximum_instances))).toBeGreaterThanOrEqual(3);
    const counted = results.reduce((sum, step) => sum + step.requests, 0);
    // Requests that the gateway served while Davit was down are not counted. No request is counted twice.
    expect(counted).toBeGreaterThan(succeeded / 20);
    expect(counted).toBeLessThanOrEqual(succeeded);
    expect(results.every((step) => step.responses['5xx'] === 0)).toBe(true);
  }, 400_000);
});

const calmMilliseconds = 10_000;

/** Clients that send GET and POST requests one after the other, with and without keep-alive. */
class Load {
  readonly #address: URL;
  readonly #failures: string[] = [];
  readonly #clients: Promise<void>[] = [];
  #succeeded = 0;
  #pauseMilliseconds = 0;
  #isOver = false;

  constructor(address: string) {
    this.#address = new URL(address);
  }

  clients(count: number): void {
    for (let index = 0; index < count; index += 1) {
      this.#clients.push(this.#client(index % 4 === 0 ? false : new Agent({ keepAlive: true, maxSockets: 1 }), index));
    }
  }

  /**
   * Reduces the load to an occasional request, from one client at a time. If all clients sent in the same second, that
   * second would count as loaded.
   */
  calm(): void {
    this.#pauseMilliseconds = calmMilliseconds;
  }

  async end(): Promise<{ readonly succeeded: number; readonly failures: readonly string[] }> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return { succeeded: this.#succeeded, failures: this.#failures };
  }

  async #client(agent: Agent | false, number: number): Promise<void> {
    let isCalm = false;
    for (let count = 0; !this.#isOver; count += 1) {
      const failure = await this.#ask(agent, (count + number) % 2 === 0 ? 'GET' : 'POST');
      if (failure === null) this.#succeeded += 1;
      else this.#failures.push(failure);
      if (this.#pauseMilliseconds === 0) continue;
      const turn = (number / this.#clients.length) * calmMilliseconds;
      await pause(isCalm ? this.#pauseMilliseconds : turn);
      isCalm = true;
    }
    if (agent !== false) agent.destroy();
  }

  #ask(agent: Agent | false, method: string): Promise<string | null> {
    const { hostname, port } = this.#address;
    return new Promise((resolve) => {
      const headers = { host: `${hostname}:${port}` };
      const sent = request({ host: '127.0.0.1', port, method, path: '/', headers, agent }, (response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => (body += chunk.toString()));
        response.on('error', (error) => resolve(`${method}: ${error.message}`));
        response.on('end', () =>
          resolve(response.statusCode === 200 && body === 'done' ? null : `${method}: ${response.statusCode} ${body}`),
        );
      });
      sent.on('error', (error) => resolve(`${method}: ${error.message}`));
      sent.end(method === 'POST' ? 'x'.repeat(1000) : undefined);
    });
  }
}
