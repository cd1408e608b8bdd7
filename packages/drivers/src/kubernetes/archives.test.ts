import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile as readOwnFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ContainerState, Pod } from 'kubernetes-types/core/v1.js';
import { pack } from 'tar-stream';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { FolderNotHeldError } from '../errors.ts';
import { upload, readFile } from './archives.ts';
import type { Api } from './client/api.ts';
import { startTestApi } from './testing/api-server.ts';

/* How files are read and written if commands run through an API server that may refuse or break connections. */

const running: ContainerState = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended: ContainerState = { terminated: { exitCode: 0 } };

/** Returns the pod of a run whose folder a helper holds. */
function podOf(helper: ContainerState, phase = 'Running', lastState?: ContainerState): Pod {
  const mount = { name: 'folder', mountPath: '/davit' };
  const reported = { name: 'helper', state: helper, image: 'i', imageID: 'i', ready: true, restartCount: 0 };
  return {
    metadata: { name: 'p', namespace: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [{ name: 'main' }, { name: 'helper', image: 'r.example/busybox:1', volumeMounts: [mount] }] },
    status: { phase, containerStatuses: [{ ...reported, ...(lastState && { lastState }) }] },
  };
}

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

interface Server {
  readonly pods?: () => readonly Pod[];
  /** Status of the response if no connection is opened. */
  readonly refusal?: number;
  readonly command?: (socket: WebSocket, command: readonly string[]) => void;
  readonly protocol?: 'v5.channel.k8s.io' | 'v4.channel.k8s.io';
}

async function serve({ pods = () => [podOf(running)], refusal, command, protocol = 'v5.channel.k8s.io' }: Server): Promise<Api> {
  const { api, server, close } = await startTestApi((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ metadata: {}, items: pods() }));
  });
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => protocol });
  server.on('upgrade', (request, socket, head) => {
    const requested = new URL(request.url ?? '', 'https://localhost').searchParams.getAll('command');
    if (refusal === undefined) return sockets.handleUpgrade(request, socket, head, (one) => command?.(one, requested));
    const body = JSON.stringify({ kind: 'Status', status: 'Failure', message: 'error dialing backend', code: refusal });
    const first = `HTTP/1.1 ${refusal} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
    socket.end(`${first}\r\n\r\n${body}`);
  });
  closers.push(close);
  return api;
}

const output = (socket: WebSocket, channel: number, bytes: string | Buffer): void =>
  socket.send(Buffer.concat([Buffer.of(channel), Buffer.from(bytes)]));
const ends =
  (code: number, errors = '') =>
  (socket: WebSocket): void => {
    if (errors !== '') output(socket, 2, errors);
    const causes = [{ reason: 'ExitCode', message: String(code) }];
    output(socket, 3, JSON.stringify(code === 0 ? { status: 'Success' } : { status: 'Failure', details: { causes } }));
    socket.close();
  };
/** Reports that the command was not started, or that its end is unknown. */
const notRun =
  (message: string) =>
  (socket: WebSocket): void => {
    output(socket, 3, JSON.stringify({ status: 'Failure', message, reason: 'InternalError', code: 500 }));
    socket.close();
  };

const signal = AbortSignal.timeout(20_000);
const read = async (server: Server): Promise<string | null> =>
  readFile({ api: await serve(server), installation: 'i' }, 'n/p', { path: '/davit/journal', maxBytes: 1000 }, signal);
const put = async (server: Server): Promise<void> => {
  const archive = pack();
  archive.entry({ name: 'go' }, '');
  archive.finalize();
  const what = { folder: '/davit', archive: Readable.from(archive, { objectMode: false }) };
  return upload({ api: await serve(server), installation: 'i' }, 'n/p', what, signal);
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
    output(socket, 1, bytes);
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
    output(socket, 1, bytes.subarray(0, 700));
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
  // The container may also end during the command.
  let pods = [podOf(running)];
  const command = (socket: WebSocket): void => {
    pods = [podOf(ended)];
    notRun('container not found ("helper")')(socket);
  };
  expect(await read({ pods: () => pods, command })).toBeNull();
});

describe('a file of a pod whose helper', () => {
  const pulling: ContainerState = { waiting: { reason: 'ImagePullBackOff', message: 'dial tcp: no such host' } };

  test('has not begun cannot be known yet, and it is said why', async () => {
    for (const ask of [read, put]) {
      const requested = ask({ pods: () => [podOf(pulling)] });
      await expect(requested).rejects.toBeInstanceOf(FolderNotHeldError);
      await expect(requested).rejects.toMatchObject({
        ...passing,
        message: expect.stringMatching(/r\.example\/busybox:1.*ImagePullBackOff: dial tcp: no such host/),
      });
    }
  });

  test('is started again cannot be known now, and may be there', async () => {
    const again = podOf({ waiting: { reason: 'CrashLoopBackOff' } }, 'Running', ended);
    const requested = read({ pods: () => [again] });
    await expect(requested).rejects.toMatchObject(passing);
    await expect(requested).rejects.not.toBeInstanceOf(FolderNotHeldError);
  });

  test('will never begin is none', async () => {
    for (const phase of ['Succeeded', 'Failed']) expect(await read({ pods: () => [podOf(pulling, phase)] })).toBeNull();
    const leaving = podOf(pulling);
    const deleted = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(await read({ pods: () => [deleted] })).toBeNull();
  });
});

/* Servers that know only v4 never end the input of a command. */
describe('files are put by way of a server that cannot end the input', () => {
  const tools = ['base64', 'sed', 'sh', 'tar'];
  const hasBusybox = spawnSync('busybox', ['true']).status === 0;
  let folder: string;

  /** Returns a handler that runs the requested commands on this machine, with only these programs in the PATH. */
  async function shellOf(kind: 'GNU' | 'BUSYBOX', programs: readonly string[]) {
    const path = join(folder, 'bin');
    await mkdir(path);
    for (const one of programs) {
      const found = spawnSync('/bin/sh', ['-c', `command -v ${kind === 'GNU' ? one : 'busybox'}`])
        .stdout.toString()
        .trim();
      await symlink(found, join(path, one));
    }
    return (socket: WebSocket, [program = '', ...args]: readonly string[]): void => {
      const own = args.map((one) => (one === '/davit' ? folder : one));
      const shell = kind === 'GNU' ? '/bin/sh' : join(path, 'sh');
      const child = spawn(program === '/bin/sh' ? shell : program, own, { env: { PATH: path } });
      commands.push(program);
      child.stdin.on('error', () => undefined);
      socket.on('message', (data: Buffer) => {
        if (data[0] === 0) child.stdin.write(data.subarray(1));
      });
      socket.on('close', () => child.stdin.end());
      child.stderr.on('data', (bytes: Buffer) => output(socket, 2, bytes));
      child.on('close', (code) => ends(code ?? 137)(socket));
    };
  }
  let commands: string[];

  async function prepared(): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'v4-'));
    commands = [];
    closers.push(() => void rm(folder, { recursive: true, force: true }));
  }

  /**
   * Puts two files. Returns whether each arrived unchanged, and how often a `tar` was started whose input did not end.
   */
  const carried = async (kind: 'GNU' | 'BUSYBOX', length: number) => {
    await prepared();
    const command = await shellOf(kind, tools);
    const scope = { api: await serve({ command, protocol: 'v4.channel.k8s.io' }), installation: 'i' };
    const isWhole: boolean[] = [];
    for (const name of ['first', 'second']) {
      const content = randomBytes(length);
      const archive = pack();
      archive.entry({ name }, content);
      archive.finalize();
      await upload(scope, 'n/p', { folder: '/davit', archive: Readable.from(archive, { objectMode: false }) }, signal);
      isWhole.push((await readOwnFile(join(folder, name))).equals(content));
    }
    return { isWhole, inVain: commands.filter((one) => one === 'tar').length };
  };
  const sizes = [0, 1_000_003];
  // Only the first command is started for nothing: after it, the server is known to support only v4.
  const wanted = { isWhole: [true, true], inVain: 1 };

  test.each(sizes)('with the programs of GNU, %i bytes', async (length) => {
    expect(await carried('GNU', length)).toEqual(wanted);
  });
  test.skipIf(!hasBusybox).each(sizes)('with the programs of busybox, %i bytes', async (length) => {
    expect(await carried('BUSYBOX', length)).toEqual(wanted);
  });

  test('unless the image has not what that takes, which is said', async () => {
    await prepared();
    const command = await shellOf('GNU', ['sed', 'tar']);
    await expect(put({ command, protocol: 'v4.channel.k8s.io' })).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringMatching(/base64.*Kubernetes 1\.30/),
      retryable: false,
    });
  });

  test('and what breaks in the middle is not taken for all of it', async () => {
    await prepared();
    const command = await shellOf('GNU', tools);
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(100_000);
        await Promise.resolve();
        throw new Error('the source broke');
      })(),
    );
    const scope = { api: await serve({ command, protocol: 'v4.channel.k8s.io' }), installation: 'i' };
    await expect(upload(scope, 'n/p', { folder: '/davit', archive: broken }, signal)).rejects.toThrow('the source broke');
  });
});
