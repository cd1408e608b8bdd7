import { connect, type Socket } from 'node:net';
import process from 'node:process';
import type { ListenerPlan } from './listeners.ts';

/*
 * Opens streams, and counts the bytes that each receives. Sockets without an HTTP parser: on a machine of two cores the
 * clients must cost little beside the server.
 */

const received: number[] = [];

function open({ port, path, tokens, perToken }: ListenerPlan): Socket[] {
  return tokens.flatMap((token, group) =>
    Array.from({ length: perToken }, (_, index) => {
      const socket = connect(port, '127.0.0.1');
      const at = group * perToken + index;
      received[at] = 0;
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Token ${token}\r\n\r\n`);
      socket.once('data', (chunk: Buffer) => {
        if (!chunk.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(`a stream was refused: ${chunk.toString()}`);
      });
      socket.on('data', (chunk: Buffer) => {
        received[at] = (received[at] ?? 0) + chunk.length;
      });
      return socket;
    }),
  );
}

process.once('message', (plan: ListenerPlan) => {
  const sockets = open(plan);
  const isOpen = setInterval(() => {
    if (received.some((bytes) => bytes === 0)) return;
    clearInterval(isOpen);
    process.send?.('open');
  }, 20);
  process.once('message', () => {
    for (const socket of sockets) socket.destroy();
    process.send?.(received);
    process.disconnect();
  });
});
