import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { Cli } from './cli.ts';

test('times are told by the clock of the server, where that of this machine is wrong', async () => {
  const there = Date.parse('2031-01-31T12:00:00Z');
  const server = createServer((_request, response) => {
    response.setHeader('date', new Date(there).toUTCString());
    response.end('{"results": []}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const sink = { write: () => true, on: () => undefined };
  const surroundings = { environment: { HOME: '/nobody' }, folder: '/', stdin: process.stdin, stdout: sink, stderr: sink };
  const cli = new Cli(surroundings);
  expect(Math.abs(cli.now() - Date.now())).toBeLessThan(1000);
  await cli.client(`http://127.0.0.1:${port}`, 'token').call('listOrganization');
  expect(Math.abs(cli.now() - there)).toBeLessThan(60_000);
  server.closeAllConnections();
  server.close();
});
