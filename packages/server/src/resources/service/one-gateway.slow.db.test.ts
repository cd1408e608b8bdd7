import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@davit/client';
import { createFakeCluster, createGateway, type Gateway, type LocalGateway, type RouteTable } from '@davit/drivers';
import { createEngine, type Engine } from '@davit/engine';
import { makeTestEnvironment } from '@davit/testkit/running-server';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { freePort } from '@davit/testkit/site';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HaproxyProcess } from '../../../../drivers/src/gateway/haproxy-process.ts';
import { hasHaproxy } from '../../../../drivers/src/gateway/testing.ts';

/*
 * Two organizations share one gateway, which is a real HAProxy in front of an in-memory cluster. Settings of one
 * organization must not affect the other. This HAProxy is made to refuse one header that others accept, as no value is
 * known that the API accepts and HAProxy refuses.
 */

const remedy = hasHaproxy ? '' : ' (skipped: the program haproxy is missing; apt-get install haproxy)';
const folder = mkdtempSync(join(tmpdir(), 'davit-one-'));
const gatewayFolder = join(folder, 'gateway');
const network = (name: string): string => `network.ingress.${name}`;
const fake = createFakeCluster();
const backend = createServer((_message, response) => response.end('served'));

interface Running {
  readonly server: TestServer;
  readonly engine: Engine;
  readonly gateway: LocalGateway;
}

let gatewayPort: number;
let running: Running;
let first: TestServer;
let attacker: Organization;
let other: Organization;

interface Organization {
  readonly environmentId: string;
  readonly token: string;
}

const program = join(folder, 'choosy-haproxy');
const choosy = `#!/bin/sh
for argument; do
  if [ -f "$argument" ] && grep -q X-Refused "$argument"; then
    echo "[ALERT] (1) : config : parsing [$argument:1] : X-Refused is refused." >&2
    exit 1
  fi
done
exec haproxy "$@"
`;

/**
 * Returns the gateway with the address of one real server for all instances, as in-memory instances have no reachable
 * address.
 */
function leadingTo(port: number, gateway: Gateway): Gateway {
  const point = <Route extends RouteTable['http'][number] | RouteTable['tcp'][number]>(route: Route): Route => ({
    ...route,
    backends: route.backends.map(({ id }) => ({ id, host: '127.0.0.1', port })),
  });
  return {
    check: (table) => gateway.check(table),
    start: () => gateway.start(),
    apply: (table) => gateway.apply({ ...table, http: table.http.map(point), tcp: table.tcp.map(point) }),
    awaitDrained: (ids, milliseconds) => gateway.awaitDrained(ids, milliseconds),
    traffic: () => gateway.traffic(),
    stop: () => gateway.stop(),
  };
}

/** Starts a server of the installation, with a gateway of its own in front of the same HAProxy. */
async function start(beside?: TestServer): Promise<Running> {
  const gateway = createGateway({ stateFolder: gatewayFolder, port: gatewayPort, bindAddress: '127.0.0.1', program });
  const { port } = backend.address() as AddressInfo; // oxlint-disable-line typescript/no-unsafe-type-assertion -- listens on TCP
  const { cluster, builder, carrier, source } = fake;
  const drivers = { docker: { cluster, builder, carrier, source, gateway: leadingTo(port, gateway) } };
  let engine: Engine | undefined;
  const server = await startTestServer({
    ...(beside !== undefined && { beside }),
    engine: (parts) => (engine = createEngine({ ...parts, drivers })),
    environment: {
      DAVIT_GATEWAY_PORT: String(gatewayPort),
      DAVIT_READY_TIMEOUT_SECONDS: '5',
      DAVIT_DRAIN_SECONDS: '1',
      DAVIT_TERMINATION_GRACE_SECONDS: '1',
    },
  });
  if (engine === undefined) throw new Error('the server made no engine');
  await engine.start();
  return { server, engine, gateway };
}

async function killHaproxy(): Promise<void> {
  const haproxy = new HaproxyProcess(gatewayFolder, 'haproxy');
  const processes = await haproxy.processes();
  if (processes === null) throw new Error('HAProxy does not run');
  for (const { pid } of [...processes.workers, processes.master]) process.kill(pid, 'SIGKILL');
  await expect.poll(() => haproxy.processes()).toBeNull();
}

beforeAll(async () => {
  if (!hasHaproxy) return;
  writeFileSync(program, choosy, { mode: 0o755 });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  gatewayPort = await freePort();
  running = await start();
  first = running.server;
  const organization = async (): Promise<Organization> => {
    const environment = await makeTestEnvironment(first);
    return { environmentId: environment.environmentId, token: environment.organization.tokens.WRITE };
  };
  [attacker, other] = await Promise.all([organization(), organization()]);
});
afterAll(async () => {
  await running?.engine.stop();
  await running?.gateway.stop();
  if (running?.server !== first) await running?.server.close();
  await first?.close();
  backend.close();
  backend.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

const clientOf = ({ token }: Organization): Client => running.server.client(token);
const at = (applicationId: string) => ({ params: { applicationId } });

async function application(organization: Organization): Promise<string> {
  const git_repository = { url: 'https://git.example.org/acme/shop.git', branch: 'main' };
  const ports = [{ internal_port: 3000, publicly_accessible: true }];
  const body = { name: `shop ${randomUUID()}`, dockerfile_path: 'Dockerfile', git_repository, healthchecks: {}, ports };
  const params = { environmentId: organization.environmentId };
  return (await clientOf(organization).call('createApplication', { params, body })).id;
}

/** Deploys a service and returns the result. */
async function deploy(organization: Organization, id: string) {
  const client = clientOf(organization);
  const before = (await client.call('getApplicationStatus', at(id))).execution_id;
  await client.call('deployApplication', { ...at(id), body: {} });
  const read = () => client.call('getApplicationStatus', at(id));
  await expect.poll(async () => (await read()).execution_id).not.toBe(before);
  const isOver = (state: string): boolean => ['DEPLOYED', 'DEPLOYMENT_ERROR', 'BUILD_ERROR'].includes(state);
  await expect.poll(async () => (await read()).state, { timeout: 60_000 }).toSatisfy(isOver);
  return read();
}

const set = (organization: Organization, id: string, settings: object) =>
  clientOf(organization).call('editAdvancedSettings', { ...at(id), body: settings });

async function hostOf(organization: Organization, id: string): Promise<string> {
  const { results } = await clientOf(organization).call('listApplicationLinks', at(id));
  return new URL(results[0]?.url ?? '').hostname;
}

/** Returns the status and headers with which the gateway responds for a host; null: there is no gateway. */
function ask(host: string) {
  return new Promise<{ readonly status: number; readonly headers: Readonly<Record<string, unknown>> } | null>((resolve) => {
    const requested = request({ host: '127.0.0.1', port: gatewayPort, agent: false, headers: { host } }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    requested.on('error', () => resolve(null));
    requested.end();
  });
}

async function serves(host: string): Promise<void> {
  await expect.poll(async () => (await ask(host))?.status).toBe(200);
}

describe.skipIf(!hasHaproxy)(`one gateway for all${remedy}`, () => {
  test('serves lists of every length that the API takes', { timeout: 120_000 }, async () => {
    const id = await application(attacker);
    const sources = Array.from({ length: 900 }, (_, index) => `10.${index >> 8}.${index & 255}.1`).join(',');
    await set(attacker, id, {
      [network('whitelist_source_range')]: `127.0.0.1,${sources.slice(0, 9000)}`.replace(/,[^,]*$/, ''),
      [network('denylist_source_range')]: sources.slice(0, 9000).replace(/,[^,]*$/, ''),
      [network('enable_cors')]: true,
      [network('cors_allow_origin')]: Array.from({ length: 400 }, (_, index) => `https://o${index}.example`).join(','),
    });
    for (const name of ['cors_allow_origin', 'cors_allow_methods', 'cors_allow_headers', 'whitelist_source_range']) {
      await expect(set(attacker, id, { [network(name)]: '' })).rejects.toMatchObject({ status: 400 });
    }
    expect(await deploy(attacker, id)).toMatchObject({ state: 'DEPLOYED', failure: null });
    await serves(await hostOf(attacker, id));
  });

  test('goes on for all others when HAProxy refuses a route, over kills and a restart', { timeout: 240_000 }, async () => {
    const victim = await application(other);
    const bad = await application(attacker);
    expect((await deploy(other, victim)).state).toBe('DEPLOYED');
    await set(attacker, bad, { [network('extra_headers')]: '{"X-Former": "a"}' });
    expect((await deploy(attacker, bad)).state).toBe('DEPLOYED');
    const [victimHost, badHost] = [await hostOf(other, victim), await hostOf(attacker, bad)];
    const former = (await clientOf(attacker).call('getApplicationStatus', at(bad))).release_id;

    await set(attacker, bad, { [network('extra_headers')]: '{"X-Refused": "a"}' });
    const failed = await deploy(attacker, bad);
    expect(failed).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'GATEWAY_FAILED' } });
    expect(JSON.stringify(failed.failure)).toContain('X-Refused is refused');

    const holds = async (): Promise<void> => {
      await serves(victimHost);
      // The former release, which was never changed.
      await serves(badHost);
      expect((await ask(badHost))?.headers['x-former']).toBe('a');
      const fresh = await application(other);
      expect(await deploy(other, fresh)).toMatchObject({ state: 'DEPLOYED', failure: null });
      await serves(await hostOf(other, fresh));
      expect((await deploy(other, victim)).state).toBe('DEPLOYED');
      await serves(victimHost);
    };
    await holds();
    const services = fake.instances.filter(({ service, state }) => service === bad && state === 'RUNNING');
    expect(services.map(({ release }) => release)).toEqual([former]);

    await killHaproxy();
    await holds();
    expect((await deploy(attacker, bad)).failure).toMatchObject({ code: 'GATEWAY_FAILED' });

    await running.engine.stop();
    running.gateway.detach();
    if (running.server !== first) await running.server.close();
    await killHaproxy();
    running = await start(first);
    await holds();
    await killHaproxy();
    await holds();

    await set(attacker, bad, { [network('extra_headers')]: '{"X-Next": "b"}' });
    expect(await deploy(attacker, bad)).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect((await ask(badHost))?.headers['x-next']).toBe('b');
  });
});
