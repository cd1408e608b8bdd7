import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connectEngine, type EngineConnection } from './connection.ts';
import { describeEngine } from './describe.ts';
import { inspectSelected, type Scope } from './instances.ts';

/** An engine with responses chosen by the test, keyed by the end of the path. */
let answers: Record<string, (response: ServerResponse) => void>;
let folder: string;
let server: Server;
let docker: EngineConnection;
const never = new AbortController().signal;
const json =
  (value: unknown, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'davit-engine-'));
  const socketPath = join(folder, 'engine.sock');
  answers = {
    '/version': json({ Version: '4.3.1', ApiVersion: '1.41', Components: [{ Name: 'Podman Engine' }] }),
    '/info': json({ NCPU: 4, MemTotal: 8 * 1024 ** 3 }),
  };
  server = createServer(({ url = '' }, response) => {
    const [path = ''] = url.split('?');
    const found = Object.entries(answers).find(([end]) => path.endsWith(end))?.[1];
    if (found) found(response);
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  docker = connectEngine(`unix://${socketPath}`);
});
afterEach(() => {
  vi.useRealTimers();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

test('an engine that takes long to tell what it has is described by what it told last', async () => {
  expect(await describeEngine(docker, never)).toMatchObject({ cpuMillicores: 4000, memoryMiB: 8192 });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  // Simulates Podman on a busy machine: it does not respond for now.
  let requested = 0;
  answers['/info'] = () => void (requested += 1);
  for (let times = 0; times < 3; times += 1) {
    expect(await describeEngine(docker, never)).toMatchObject({ cpuMillicores: 4000, memoryMiB: 8192 });
  }
  await vi.waitFor(() => expect(requested).toBe(1));
});

test('a new answer replaces the last one', async () => {
  await describeEngine(docker, never);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  answers['/info'] = json({ NCPU: 2, MemTotal: 4 * 1024 ** 3 });
  await describeEngine(docker, never);
  await vi.waitFor(async () => expect(await describeEngine(docker, never)).toMatchObject({ cpuMillicores: 2000 }));
});

test('a container whose process ends while Podman looks at it is looked at again', async () => {
  const labels = { 'davit.installation': 'i', 'davit.object': 'instance', 'davit.rollout': 'r', 'davit.index': '0' };
  const ended = json({ message: 'read /proc/21415/cgroup: no such process', response: 500 }, 500);
  const shown = json({ Id: 'a', Config: { Labels: labels }, State: { Running: false, Status: 'exited', ExitCode: 0 } });
  const list = json([{ Id: 'a', Labels: labels }]);
  let [lists, looks] = [0, 0];
  answers['/containers/json'] = (response) => ((lists += 1) < 3 ? ended(response) : list(response));
  answers['/containers/a/json'] = (response) => ((looks += 1) < 3 ? ended(response) : shown(response));
  const scope: Scope = { docker, installation: 'i', isDirect: true };
  expect((await inspectSelected(scope, {}, never)).map(({ Id }) => Id)).toEqual(['a']);
});

test('containers that go away while they are listed, which Podman answers with 500, are left out', async () => {
  const labels = { 'davit.installation': 'i', 'davit.object': 'instance', 'davit.rollout': 'r', 'davit.index': '0' };
  const gone = json({ message: 'no such container', cause: 'no such container', response: 500 }, 500);
  const list = json(['a', 'b'].map((Id) => ({ Id, Labels: labels })));
  let lists = 0;
  answers['/containers/json'] = (response) => ((lists += 1) < 3 ? gone(response) : list(response));
  answers['/containers/a/json'] = gone;
  answers['/containers/b/json'] = json({
    Id: 'b',
    Config: { Labels: labels },
    State: { Running: true, Status: 'running', ExitCode: 0 },
  });
  const scope: Scope = { docker, installation: 'i', isDirect: true };
  expect((await inspectSelected(scope, {}, never)).map(({ Id }) => Id)).toEqual(['b']);
  answers['/containers/b/json'] = json({ message: 'the storage is broken' }, 500);
  await expect(inspectSelected(scope, {}, never)).rejects.toThrow('the storage is broken');
});
