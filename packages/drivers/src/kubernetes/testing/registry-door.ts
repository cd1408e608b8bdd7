import { connect, createServer } from 'node:net';
import type { Node } from 'kubernetes-types/core/v1.js';
import type { Api } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { pathOf } from '../client/objects.ts';

/** An address at which pods reach a port on 127.0.0.1 of this machine. */
export interface Door {
  /** `<address of a node>:<port>` */
  readonly address: string;
  close(): Promise<void>;
}

/** Opens a door on the address of a node, which must be this machine. `port` 0 selects a free port. */
export async function openDoor(api: Api, to: string, port = 0): Promise<Door> {
  const { items } = await list<Node>(api, { path: pathOf('Node'), query: {} }, new AbortController().signal);
  const host = items[0]?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '127.0.0.1';
  const server = createServer((socket) => {
    const there = connect(Number(to.split(':')[1]), '127.0.0.1');
    for (const [from, other] of [
      [socket, there],
      [there, socket],
    ] as const) {
      from.on('error', () => other.destroy());
      from.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const bound = server.address();
  return {
    address: `${host}:${typeof bound === 'object' && bound !== null ? bound.port : port}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
