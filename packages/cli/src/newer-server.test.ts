import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProgram } from './program.ts';

/* A server of a later version, with kinds, states, stages and error codes that this command line does not know. */

const service = { id: 's', name: 'mails', service_type: 'QUEUE', color: 'blue' };
const known = { id: 'a', name: 'api', service_type: 'CONTAINER', image_name: 'api', tag: 'v1' };
const status = {
  id: 'a',
  state: 'HIBERNATED',
  running_status: 'DOZING',
  running_instances: 1,
  wanted_instances: 1,
  service_deployment_status: 'HALF_UP_TO_DATE',
  conditions: [{ code: 'MOON_IS_FULL', message: 'The moon is full.', hint: 'Wait.', evidence: {}, mood: 'calm' }],
};
const lists = {
  applications: [],
  containers: [status],
  databases: [],
  jobs: [],
  helms: [],
  terraforms: [],
  queues: [{ id: 's' }],
};
const answers: Readonly<Record<string, object>> = {
  '/organization/o/project': { results: [{ id: 'p', name: 'shop' }] },
  '/organization/o/environments': { results: [{ id: 'e', name: 'live', project: { id: 'p' } }] },
  '/environment/e/services': { results: [service, known], warnings: [] },
  '/environment/e/statuses': { ...lists, environment: {} },
  '/environment/e/statusesWithStages': { stages: [{ stage: { id: '1', name: 'All', weather: 'fair' }, ...lists }] },
  '/organization': { results: [{ id: 'o', name: 'Acme' }] },
};

let server: Server;
let base: string;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'davit-newer-'));
  server = createServer((request, response) => {
    const url = (request.url ?? '').replace(/\?.*/, '');
    const refusal = { status: 418, code: 'TEAPOT', message: 'The server is a teapot.', errors: [], taste: 'green' };
    const answer = request.method === 'GET' ? answers[url] : undefined;
    response.writeHead(answer === undefined ? 418 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? refusal));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

async function davit(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const sink = (add: (text: string) => void) => ({
    write: (text: string, onWritten?: () => void) => {
      add(text);
      onWritten?.();
      return true;
    },
    on: () => undefined,
  });
  const environment = { HOME: folder, DAVIT_SERVER: base, DAVIT_TOKEN: 'dvt_token', LANG: 'C.UTF-8' };
  const [stdout, stderr] = [sink((text) => (out += text)), sink((text) => (err += text))];
  const code = await runProgram(words, { environment, folder, stdin: process.stdin, stdout, stderr });
  return { code, out, err };
}

test('unknown states are shown by their names', async () => {
  const shown = await davit('status');
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.out).toMatch(/api +○ hibernated +1\/1/);
  expect(shown.out).toContain('The moon is full.');
  expect((await davit('ps')).out).toMatch(/api +container +dozing +1\/1/);
  expect(JSON.parse((await davit('status', '--json')).out)).toMatchObject({ stages: [{ stage: { weather: 'fair' } }] });
});

test('a service of an unknown kind is named, and never left out of a deployment in silence', async () => {
  const deployed = await davit('deploy', 'mails', 'api');
  expect(deployed).toMatchObject({ code: 1, out: '' });
  expect(deployed.err).toContain('mails is of the kind QUEUE, which this command line does not know.');
  expect(deployed.err).toContain('/cli/davit.mjs');
  expect(await davit('restart', 'mails')).toMatchObject({
    code: 64,
    err: expect.stringContaining('mails is of the kind QUEUE, which cannot be restarted.'),
  });
});

test('an unknown error code is reported with its message', async () => {
  const refused = await davit('deploy', 'api');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain('davit: The server is a teapot.  TEAPOT');
});
