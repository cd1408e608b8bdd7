import { Agent } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Backend, HttpRoute } from '../gateway.ts';
import { HaproxyProcess } from './haproxy-process.ts';
import { closed, hasHaproxy, httpRoute, GatewaySetup, title, until } from './testing.ts';

let setup: GatewaySetup;
beforeEach(() => {
  setup = new GatewaySetup();
});
afterEach(() => setup.end());

/** Clients that send requests one after the other until they are stopped, and record errors. */
class Load {
  count = 0;
  readonly faults: string[] = [];
  private isOver = false;
  private readonly clients: Promise<void>[] = [];

  add(host: string, isRight: (name: string) => boolean, agent?: Agent): void {
    this.clients.push(this.run(host, isRight, agent));
  }

  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.clients);
  }

  private async run(host: string, isRight: (name: string) => boolean, agent?: Agent): Promise<void> {
    for (let turn = 0; !this.isOver; turn += 1) {
      const body = turn % 2 === 0 ? undefined : `${host} ${turn} `.repeat(turn % 40 === 1 ? 4000 : 1);
      this.count += 1;
      try {
        const echo = await setup.echo(host, '/', { agent, body, method: body === undefined ? 'GET' : 'POST' });
        if (!isRight(echo.name)) this.faults.push(`${host} was answered by ${echo.name}`);
        if (echo.body !== (body ?? '')) this.faults.push(`${host} lost ${body?.length} bytes of a body`);
      } catch (error) {
        this.faults.push(`${host}: ${String(error)}`);
      }
    }
  }
}

describe.skipIf(!hasHaproxy)(`switches of ${title}`, () => {
  it('loses none of 10,000 requests while backends change 20 times and HAProxy reloads 5 times', async () => {
    const gateway = await setup.gateway();
    let current = await setup.backend('a-0');
    const extra: HttpRoute[] = [];
    const apply = (backends: readonly Backend[]) =>
      gateway.apply({ http: [httpRoute('r', ['a.localhost'], backends), ...extra], tcp: [] });
    await apply([current]);
    const agents = [1, 2, 3, 4].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    const load = new Load();
    for (const agent of [...agents, undefined, undefined]) load.add('a.localhost', (name) => name.startsWith('a-'), agent);

    for (let turn = 1; turn <= 25; turn += 1) {
      const since = load.count;
      await until(() => load.count > since + 400);
      // Every fifth change adds a new route, for which HAProxy must reload.
      if (turn % 5 === 0) extra.push(httpRoute(`extra-${turn}`, [`extra-${turn}.localhost`], []));
      const former = current;
      current = await setup.backend(`a-${turn}`);
      await apply([current]);
      await gateway.awaitDrained([former.id], 10_000);
      await closed(former.server);
    }
    await load.end();
    for (const agent of agents) agent.destroy();

    expect(load.faults).toEqual([]);
    expect(load.count).toBeGreaterThan(10_000);
  });

  it('never lets a service answer for another that had its address before', async () => {
    const gateway = await setup.gateway();
    const load = new Load();
    let [ofA, ofB] = [await setup.backend('a-0', '127.0.0.2'), await setup.backend('b-0', '127.0.0.3')];
    const apply = (...[a, b]: (readonly Backend[])[]) =>
      gateway.apply({ http: [httpRoute('a', ['a.localhost'], a!), httpRoute('b', ['b.localhost'], b!)], tcp: [] });
    await apply([ofA], [ofB]);
    const agents = [1, 2, 3, 4].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const [index, agent] of agents.entries()) {
      const name = index % 2 === 0 ? 'a' : 'b';
      load.add(`${name}.localhost`, (answered) => answered.startsWith(`${name}-`), agent);
    }

    for (let turn = 1; turn <= 10; turn += 1) {
      const since = load.count;
      await until(() => load.count > since + 100);
      // Both move to spare addresses; then each returns at the former address of the other.
      const [sparedA, sparedB] = [await setup.backend(`a-${turn}-spare`), await setup.backend(`b-${turn}-spare`)];
      await apply([sparedA], [sparedB]);
      await gateway.awaitDrained([ofA.id, ofB.id], 10_000);
      await Promise.all([closed(ofA.server), closed(ofB.server)]);
      const [addressA, addressB] = [ofB, ofA];
      ofA = await setup.backend(`a-${turn}`, addressA.host, addressA.port);
      ofB = await setup.backend(`b-${turn}`, addressB.host, addressB.port);
      await apply([ofA], [ofB]);
      await gateway.awaitDrained([sparedA.id, sparedB.id], 10_000);
      await Promise.all([closed(sparedA.server), closed(sparedB.server)]);
    }
    await load.end();
    for (const agent of agents) agent.destroy();

    expect(load.faults).toEqual([]);
  });

  it('makes one change of many that come at once, and the last one wins', async () => {
    const gateway = await setup.gateway();
    const backends = await Promise.all(Array.from({ length: 20 }, (_, index) => setup.backend(`b-${index}`)));
    const table = (backend: Backend) => ({ http: [httpRoute('r', ['a.localhost'], [backend])], tcp: [] });
    await gateway.apply(table(backends[0]!));

    await Promise.all(backends.map((backend) => gateway.apply(table(backend))));

    expect((await setup.echo('a.localhost')).name).toBe('b-19');
    const { servers } = await new HaproxyProcess(setup.folder, 'haproxy').serving();
    const everAdded = [...servers.entries()].flatMap(([proxy, names]) => (proxy.startsWith('http_') ? [...names.keys()] : []));
    expect(everAdded.map((name) => name.split(':')[0])).toEqual(['b-0', 'b-19']);
  });

  it('changes servers among 1,000 routes in a fraction of a reload', async () => {
    const gateway = await setup.gateway();
    const [one, two] = [await setup.backend('one'), await setup.backend('two')];
    const routes = (backend: Backend, count = 1000) =>
      Array.from({ length: count }, (_, index) =>
        httpRoute(`r-${index}`, [`r-${index}.localhost`], [index === 500 ? backend : one]),
      );
    const timed = async (action: () => Promise<void>): Promise<number> => {
      const begin = performance.now();
      await action();
      return performance.now() - begin;
    };
    await gateway.start();

    const loading = await timed(() => gateway.apply({ http: routes(one), tcp: [] }));
    const changing = await timed(() => gateway.apply({ http: routes(two), tcp: [] }));

    expect((await setup.echo('r-500.localhost')).name).toBe('two');
    expect((await setup.echo('r-999.localhost')).name).toBe('one');
    expect(changing).toBeLessThan(loading);
  });
});
