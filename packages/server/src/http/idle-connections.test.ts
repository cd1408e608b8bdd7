import { once } from 'node:events';
import { connect } from 'node:net';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { endIdleConnections } from './idle-connections.ts';

test('a server that closes waits for answers that are under way, and for no other connection', async () => {
  const app = fastify();
  let answer = (): void => undefined;
  const requested = new Promise<void>((resolve) => {
    app.get('/', async () => {
      resolve();
      await new Promise<void>((done) => (answer = done));
      return 'answered';
    });
  });
  endIdleConnections(app);
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const unused = connect(Number(new URL(address).port), '127.0.0.1');
  await once(unused, 'connect');
  const request = fetch(address);
  await requested;
  const ended = once(unused, 'close');
  const closed = app.close();
  await ended;
  answer();
  expect(await (await request).text()).toBe('answered');
  await closed;
});
