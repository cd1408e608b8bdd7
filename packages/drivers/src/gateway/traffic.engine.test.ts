import { createServer } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalGateway } from './gateway.ts';
import { hasHaproxy, httpRoute, GatewaySetup, title } from './testing.ts';

let setup: GatewaySetup;
beforeEach(() => {
  setup = new GatewaySetup();
});
afterEach(() => setup.end());

const id = '5d3b6a1e-0c7e-4a8e-9b3f-8f6f3f4f5f6f';
const host = 'a.localhost';

async function counted(gateway: LocalGateway) {
  return (await gateway.traffic()).find((route) => route.id === id);
}

describe.skipIf(!hasHaproxy)(`the traffic of ${title}`, () => {
  it('is counted by route, with classes of answers and how long they took', async () => {
    const gateway = await setup.gateway();
    const server = createServer((request, response) => {
      const wait = request.url === '/slow' ? 120 : 0;
      setTimeout(() => response.writeHead(request.url === '/wrong' ? 500 : 200).end('answer'), wait);
    });
    const backend = { id: 'one', host: '127.0.0.1', port: await setup.listen(server) };
    await gateway.apply({ http: [httpRoute(id, [host], [backend])], tcp: [] });
    await gateway.traffic();
    for (const path of ['/', '/', '/slow', '/wrong']) await setup.ask(host, path);
    const traffic = await counted(gateway);
    expect(traffic).toMatchObject({ requests: 4, responses: [0, 3, 0, 0, 1] });
    expect(traffic?.latency.reduce((sum, one) => sum + one, 0)).toBe(4);
    // The buckets above 100 ms.
    expect(traffic?.latency.slice(5).reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(1);
    expect(traffic?.sentBytes).toBeGreaterThan(4 * 'answer'.length);
  });

  it('goes on through reloads and changes of servers, and counts what nobody answers', async () => {
    const gateway = await setup.gateway();
    const [one, two] = await Promise.all(['one', 'two'].map((name) => setup.backend(name)));
    await gateway.apply({ http: [httpRoute(id, [host], [one!])], tcp: [] });
    await gateway.traffic();
    await setup.ask(host);
    // A route with other options is another backend, and needs a reload.
    await gateway.apply({ http: [httpRoute(id, [host], [one!], { pathRewrite: '/x' })], tcp: [] });
    await setup.ask(host);
    await gateway.apply({ http: [httpRoute(id, [host], [one!, two!], { pathRewrite: '/x' })], tcp: [] });
    await setup.ask(host);
    expect(await counted(gateway)).toMatchObject({ requests: 3, responses: [0, 3, 0, 0, 0] });
    await gateway.apply({ http: [httpRoute(id, [host], [], { pathRewrite: '/x' })], tcp: [] });
    expect((await setup.ask(host)).status).toBe(503);
    expect(await counted(gateway)).toMatchObject({ requests: 4, responses: [0, 3, 0, 0, 1] });
  });
});
