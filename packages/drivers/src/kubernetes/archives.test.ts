import { Readable } from 'node:stream';
import type { ContainerState, Pod } from 'kubernetes-types/core/v1.js';
import { pack } from 'tar-stream';
import { afterEach, expect, test } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Api } from './api.ts';
import { putInto, readFile } from './archives.ts';
import { startTestApi } from './testing/api-server.ts';

/* What becomes of the answers of an API server through which commands are run. */

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended: ContainerState = { terminated: { exitCode: 0 } };

/** The pod of a run, whose folder a helper holds. */
function podOf(helper: ContainerState): Pod {
  return {
    metadata: { name: 'p', namespace: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'main' }, { name: 'helper', volumeMounts: [{ name: 'folder', mountPath: '/davit' }] }] },
    status: {
      containerStatuses: [{ name: 'helper', state: helper, image: 'i', imageID: 'i', ready: true, restartCount: 0 }],
    },
  };
}

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

interface Server {
  readonly pods?: () => readonly Pod[];
  /** The status of an answer in place of a connection. */
  readonly refusal?: number;
  readonly command?: (socket: WebSocket) => void;
}

async function serve({ pods = () => [podOf(running)], refusal, command }: Server): Promise<Api> {
  const { api, server, close } = await startTestApi((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ metadata: {}, items: pods() }));
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v5.channel.k8s.io' });
  server.on('upgrade', (request, socket, head) => {
    if (refusal === undefined) return sockets.handleUpgrade(request, socket, head, (one) => command?.(one));
    const body = JSON.stringify({ kind: 'Status', status: 'Failure', message: 'error dialing backend', code: refusal });
    const first = `HTTP/1.1 ${refusal} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.end(`${first}\r\n\r\n${body}`);
  });
  closers.push(close);
  return api;
}

const said = (socket: WebSocket, channel: number, bytes: string | Buffer): void =>
  socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(bytes)]));
const ends =
  (code: number, errors = '') =>
  (socket: WebSocket): void => {
    if (errors !== '') said(socket, 2, errors);
    const causes = [{ reason: 'ExitCode', message: String(code) }];
    said(socket, 3, JSON.stringify(code === 0 ? { status: 'Success' } : { status: 'Failure', details: { causes } }));
    socket.close();
  };
/** The command was not started, or nobody knows how it ended. */
const notRun =
  (message: string) =>
  (socket: WebSocket): void => {
    said(socket, 3, JSON.stringify({ status: 'Failure', message, reason: 'InternalError', code: 500 }));
    socket.close();
  };

const signal = AbortSignal.timeout(20_000);
const read = async (server: Server): Promise<string | null> =>
  readFile({ api: await serve(server), installation: 'i' }, 'n/p', { path: '/davit/journal', mostBytes: 1000 }, signal);
const put = async (server: Server): Promise<void> => {
  const archive = pack();
  archive.entry({ name: 'go' }, '');
  archive.finalize();
  const what = { folder: '/davit', archive: Readable.from(archive, { objectMode: false }) };
  return putInto({ api: await serve(server), installation: 'i' }, 'n/p', what, signal);
};
const passing = { code: 'ENGINE_FAILED', retryable: true };

test('a file that tar does not find is none', async () => {
  expect(await read({ command: ends(1, 'tar: journal: No such file or directory') })).toBeNull();
  expect(await read({ command: ends(2, 'tar: journal: Cannot stat: No such file or directory') })).toBeNull();
});

test('a file is read', async () => {
  const archive = pack();
  archive.entry({ name: 'journal' }, 'begin apply');
  archive.finalize();
  const bytes = Buffer.concat(await Readable.from(archive).toArray());
  const command = (socket: WebSocket): void => {
    said(socket, 1, bytes);
    ends(0)(socket);
  };
  expect(await read({ command })).toBe('begin apply');
});

test.each([409, 429, 500, 503])('a refusal with %i says nothing of a file, and passes', async (refusal) => {
  await expect(read({ refusal })).rejects.toMatchObject(passing);
  await expect(put({ refusal })).rejects.toMatchObject(passing);
});

test('nor does a command that was not started, or was killed', async () => {
  for (const command of [notRun('Internal error occurred: error dialing backend: No agent available'), ends(137)]) {
    await expect(read({ command })).rejects.toMatchObject(passing);
    await expect(put({ command })).rejects.toMatchObject(passing);
  }
});

test('nor does an archive that was cut off', async () => {
  const archive = pack();
  archive.entry({ name: 'journal' }, 'x'.repeat(900));
  archive.finalize();
  const bytes = Buffer.concat(await Readable.from(archive).toArray());
  const command = (socket: WebSocket): void => {
    said(socket, 1, bytes.subarray(0, 700));
    setTimeout(() => notRun('the container runtime is gone')(socket), 50);
  };
  await expect(read({ command })).rejects.toMatchObject(passing);
});

test('a program that the image does not have does not come by waiting', async () => {
  const words = 'OCI runtime exec failed: exec: "tar": executable file not found in $PATH: unknown';
  for (const ask of [read, put])
    await expect(ask({ command: notRun(words) })).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining('executable file not found'),
      retryable: false,
    });
});

test('a file of a pod that is gone, or whose containers have ended, is none', async () => {
  expect(await read({ pods: () => [] })).toBeNull();
  expect(await read({ pods: () => [podOf(ended)] })).toBeNull();
  // Under the command, too.
  let pods = [podOf(running)];
  const command = (socket: WebSocket): void => {
    pods = [podOf(ended)];
    notRun('container not found ("helper")')(socket);
  };
  expect(await read({ pods: () => pods, command })).toBeNull();
});
