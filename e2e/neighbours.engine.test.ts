import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type Client } from '../packages/client/src/index.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, node, TestSetup } from './support/setup.ts';

/*
 * Two organizations share one Davit. One organization attacks, and the other one must not notice. The pages of the
 * other organization are requested all the time, and it deploys after each attack.
 */

const shop = `
const http = require('node:http');
const server = http.createServer((_request, response) => response.end('shop'));
server.listen(3000);
let count = 0;
setInterval(() => console.log('line ' + (count += 1)), 200);
process.on('SIGTERM', () => server.close(() => process.exit(0)));
`;
const idle = ['FROM ' + busybox, 'CMD ["httpd", "-f", "-p", "3000"]', ''].join('\n');
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

/** A client that requests a page twenty times per second. */
class Visitor {
  readonly failures: string[] = [];
  requested = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(ask: () => Promise<{ readonly status: number }>) {
    this.#done = this.#visit(ask);
  }

  async leave(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #visit(ask: () => Promise<{ readonly status: number }>): Promise<void> {
    while (!this.#isOver) {
      const answer = await ask().catch((error: unknown) => ({ status: 0, error: String(error) }));
      this.requested += 1;
      if (answer.status !== 200) this.failures.push(`${new Date().toISOString()} ${JSON.stringify(answer)}`);
      await pause(50);
    }
  }
}

describe.each(testEngineKinds())('a neighbour on %s', (kind) => {
  let setup: TestSetup;
  let shopId: string;
  let visitor: Visitor;
  let attacker: Client;
  let params: { readonly environmentId: string };
  let dumb: { readonly url: string; readonly server: Server };

  beforeAll(async () => {
    setup = await TestSetup.open(kind, {
      DAVIT_ALLOW_PRIVATE_REPOSITORIES: '127.0.0.1',
      DAVIT_ALLOW_LOCAL_REPOSITORIES: 'false',
    });
    await setup.loadNode();
    const { url } = setup.repository('shop', {
      Dockerfile: `FROM ${node}\nCOPY server.js /\nCMD ["/usr/local/bin/node", "/server.js"]\n`,
      'server.js': shop,
    });
    shopId = await setup.application('shop', url, { ports: [port], memory: 128 });
    await setup.deploy(shopId);
    const link = await setup.link(shopId);
    visitor = new Visitor(() => setup.fetch(link));
    const admin = setup.davit.client;
    const organization = { organizationId: (await admin.call('createOrganization', { body: { name: 'Pirates' } })).id };
    const { token } = await admin.call('createOrganizationApiToken', {
      params: organization,
      body: { name: 'all', scope: 'ADMIN' },
    });
    attacker = createClient({ baseUrl: setup.davit.url, token });
    const project = await attacker.call('createProject', { params: organization, body: { name: 'Ship' } });
    params = {
      environmentId: (await attacker.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'open sea' } }))
        .id,
    };
    dumb = await serveFiles(setup.repositories.path);
  });
  afterAll(async () => {
    dumb?.server.close();
    await visitor?.leave();
    await setup?.close();
  });

  async function application(name: string, url: string, fields: object = {}): Promise<string> {
    const body = {
      name,
      git_repository: { url, branch: 'main' },
      dockerfile_path: 'Dockerfile',
      ports: [port],
      memory: 64,
      ...fields,
    };
    return (await attacker.call('createApplication', { params, body })).id;
  }

  /** Deploys the application and waits for the end of the deployment, whatever its outcome. */
  async function deploy(applicationId: string) {
    await attacker.call('deployApplication', { params: { applicationId }, body: {} });
    return eventually(
      async () => {
        const status = await attacker.call('getApplicationStatus', { params: { applicationId } });
        return /_ERROR$|^CANCELED$|^DEPLOYED$/.test(status.state) ? status : undefined;
      },
      'the end of the attack',
      120_000,
    );
  }

  /** Checks that the other organization can deploy and that its pages were served all the time. */
  async function noticesNothing(): Promise<void> {
    expect((await setup.deploy(shopId)).state).toBe('DEPLOYED');
    expect(visitor.failures).toEqual([]);
  }

  test('with long lists in the settings of its routes is not noticed', async () => {
    const { url } = setup.repository('lists', { Dockerfile: idle });
    const applicationId = await application('lists', url);
    const networks = Array.from({ length: 500 }, (_, index) => `10.${index >> 8}.${index & 255}.0/24`).join(',');
    const origins = Array.from({ length: 150 }, (_, index) => `https://page-${index}.example.org`).join(',');
    const settings = { 'network.ingress.enable_cors': true, 'network.ingress.cors_allow_origin': origins };
    const body = { ...settings, 'network.ingress.denylist_source_range': networks };
    await attacker.call('editAdvancedSettings', { params: { applicationId }, body });
    expect((await deploy(applicationId)).state).toBe('DEPLOYED');
    const empty = attacker.call('editAdvancedSettings', {
      params: { applicationId },
      body: { 'network.ingress.cors_allow_methods': '' },
    });
    await expect(empty).rejects.toMatchObject({ status: 400 });
    await noticesNothing();
  });

  test('with secrets as large as they may be is not noticed, and none of them is in the log', async () => {
    const { url } = setup.repository('secrets', { Dockerfile: idle });
    const ids = await Promise.all([1, 2, 3].map((count) => application(`secrets ${count}`, url)));
    const canary = 'canary-of-the-pirates';
    const value = Array.from({ length: 400 }, (_, index) => `${canary} ${index} ${'x'.repeat(100)}`).join('\n');
    for (const applicationId of ids) {
      await attacker.call('createApplicationSecret', { params: { applicationId }, body: { key: 'TREASURE', value } });
    }
    await Promise.all(ids.map(deploy));
    await noticesNothing();
    for (const form of [canary, Buffer.from(canary).toString('hex'), Buffer.from(value).toString('base64').slice(0, 60)]) {
      expect(setup.davit.output).not.toContain(form);
    }
  });

  test('that tries the addresses of others reaches nobody', async () => {
    const addresses = await addressesOf(setup, shopId);
    expect(addresses.length).toBeGreaterThan(0);
    const tries = addresses.map((address) => `wget -T 2 -q -O - http://${address}:3000 && echo REACHED`).join('; ');
    const { url } = setup.repository('scan', {
      Dockerfile: `FROM ${busybox}\nRUN (${tries}) || true\nCMD ["sh", "-c", "${tries}; echo tried; exec httpd -f -p 3000"]\n`,
    });
    const applicationId = await application('scan', url);
    expect((await deploy(applicationId)).state).toBe('DEPLOYED');
    const lines = await eventually(async () => {
      const { results } = await attacker.call('listApplicationLog', { params: { applicationId } });
      return results.some(({ message }) => message === 'tried') ? results.map(({ message }) => message) : undefined;
    }, 'the output');
    const build = await attacker.call('listEnvironmentLogs', { params });
    expect(JSON.stringify([lines, build])).not.toContain('"REACHED');
    await noticesNothing();
  });

  test('whose git server is hostile, or an address of the inside, learns nothing and starts nothing', async () => {
    const { repository } = setup.repository('plain', { Dockerfile: idle });
    const bare = join(setup.repositories.path, 'dumb.git');
    execFileSync('git', ['clone', '--quiet', '--bare', repository.folder, bare]);
    execFileSync('git', ['-C', bare, 'update-server-info']);
    const slow = await deploy(await application('dumb', `${dumb.url}/dumb.git`));
    expect([slow.state, slow.failure?.code]).toEqual(['BUILD_ERROR', 'GIT_UNREACHABLE']);
    const inside = [setup.davit.gatewayPort, 1].map((number) => `http://127.0.0.2:${number}/repository.git`);
    const words = await Promise.all(
      inside.map(async (url, index) => (await deploy(await application(`inside ${index}`, url))).failure?.message),
    );
    expect(words[0]?.replace(/:\d+/, '')).toBe(words[1]?.replace(/:\d+/, ''));
    await noticesNothing();
  });

  test('that starts thousands of processes in a build and prints without end is not noticed', async () => {
    const { url } = setup.repository('flood', {
      Dockerfile: [
        `FROM ${busybox}`,
        'RUN i=0; while [ $i -lt 2000 ]; do sleep 3 & i=$((i+1)); done; true',
        'CMD ["sh", "-c", "(timeout 5 yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa); exec httpd -f -p 3000"]',
        '',
      ].join('\n'),
    });
    // The engine may deny the build some processes. The build then continues with those that it has.
    expect((await deploy(await application('flood', url))).state).toMatch(/^DEPLOYED$|^BUILD_ERROR$/);
    await noticesNothing();
  });

  test('left no gap in what the other one printed, and no request of the other one failed', async () => {
    await visitor.leave();
    expect(visitor.failures).toEqual([]);
    expect(visitor.requested).toBeGreaterThan(200);
    const { results } = await setup.davit.client.call('listApplicationLog', { params: { applicationId: shopId } });
    const numbers = results.flatMap(({ message }) => (message.startsWith('line ') ? [Number(message.slice(5))] : []));
    // Each instance restarts the count at 1.
    const gaps = numbers.filter((number, index) => index > 0 && number !== 1 && number !== (numbers[index - 1] ?? 0) + 1);
    expect(gaps).toEqual([]);
  });
});

/** Starts a plain web server without support for git. */
async function serveFiles(root: string): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    try {
      response.end(readFileSync(join(root, new URL(request.url ?? '/', 'http://localhost').pathname)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return { url: `http://127.0.0.1:${address.port}`, server };
}

async function addressesOf(setup: TestSetup, serviceId: string): Promise<string[]> {
  const containers = await setup.containers(serviceId);
  const found = await Promise.all(containers.map(({ Id }) => setup.docker.getContainer(Id).inspect()));
  return found.flatMap(({ NetworkSettings }) =>
    Object.values(NetworkSettings.Networks).flatMap(({ IPAddress }) => (IPAddress === '' ? [] : [IPAddress])),
  );
}
