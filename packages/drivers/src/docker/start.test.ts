import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleWorkload } from '../kubernetes/testing/workloads.ts';
import { ClosedNetworks } from './closed-networks.ts';
import { connectEngine } from './connection.ts';
import { fullTraits } from './container-spec.ts';
import { readImageConfig } from './image-config.ts';
import { startWorkload, type EngineMemory } from './start.ts';

/* An engine that cannot read an image, as Podman while its storage is busy. */

let folder: string;
let server: Server;
/** Requests that the engine has got, such as `GET /images/…/json`, without the version of the API. */
let requested: string[];
let answer: (request: string, response: ServerResponse) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'davit-engine-'));
  requested = [];
  server = createServer(({ method = '', url = '' }, response) => {
    const request = `${method} ${decodeURIComponent(url)}`;
    requested.push(request);
    answer(request, response);
  });
  server.listen(join(folder, 'engine.sock'));
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const docker = () => connectEngine(`unix://${join(folder, 'engine.sock')}`);
const json = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
const { signal } = new AbortController();
const busy = { message: 'layers are locked' };

test('a start that fails at the image leaves nothing behind that still goes on', async () => {
  const made = Promise.withResolvers<ServerResponse>();
  answer = (request, response) => {
    if (request.includes('/images/')) json(response, 500, busy);
    else if (request.startsWith('POST')) made.resolve(response);
    else json(response, 404, {});
  };
  const memory: EngineMemory = {
    traits: fullTraits,
    known: new Set(),
    underWay: new Map(),
    engine: 'docker',
    closed: new ClosedNetworks(false),
    addresses: undefined,
  };
  const scope = { docker: docker(), installation: 'i', isDirect: true };
  let isOver = false;
  const started = startWorkload(scope, memory, sampleWorkload(), { signal, log: () => undefined }).finally(() => (isOver = true));
  started.catch(() => undefined);
  // The network is being created, and stays so until this test answers.
  const creating = await made.promise;
  await expect.poll(() => requested.filter((request) => request.includes('/images/')).length).toBe(5);
  expect(isOver).toBe(false);
  json(creating, 201, { Id: 'n' });
  await expect(started).rejects.toMatchObject({ code: 'ENGINE_FAILED', message: expect.stringContaining('layers are locked') });
});

test('an image that the engine cannot read for a moment is read again, and is not taken for one without settings', async () => {
  let failures = 2;
  answer = (_request, response) => {
    failures -= 1;
    if (failures >= 0) json(response, 500, busy);
    else json(response, 200, { Config: { Entrypoint: ['/sbin/init'] } });
  };
  expect(await readImageConfig(docker(), 'shop:1', signal)).toEqual({ Entrypoint: ['/sbin/init'] });
  answer = (_request, response) => json(response, 404, { message: 'no such image' });
  expect(await readImageConfig(docker(), 'shop:1', signal)).toEqual({});
});
