import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

const web = {
  Dockerfile: `FROM ${busybox}\nCOPY index.html /www/index.html\nCMD ["httpd", "-f", "-p", "3000", "-h", "/www"]\n`,
  'index.html': 'stateless\n',
};
const script = '[ -f /data/index.html ] || cat /proc/sys/kernel/random/uuid > /data/index.html; exec httpd -f -p 3000 -h /data';
const store = { Dockerfile: `FROM ${busybox}\nCMD ["sh", "-c", "${script}"]\n` };
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

describe.each(testEngineKinds())('a reboot of the machine with %s', (kind) => {
  let setup: TestSetup;
  beforeAll(async () => {
    // This uses the database that Davit brings along, so that the database goes down with everything else.
    setup = await TestSetup.open(kind, { DATABASE_URL: '' });
  });
  afterAll(() => setup?.close());

  test('brings every service and address back without a hand, and data is as it was', async () => {
    const webId = await setup.application('web', setup.repository('web', web).url, { ports: [port], memory: 64 });
    const storeId = await setup.application('store', setup.repository('store', store).url, {
      ports: [port],
      memory: 64,
      storage: [{ type: 'FAST_SSD', size: 1, mount_point: '/data' }],
    });
    const stoppedId = await setup.application('stopped', setup.repository('stopped', web).url, { ports: [port], memory: 64 });
    for (const id of [webId, storeId, stoppedId]) await setup.deploy(id);
    await setup.davit.client.call('stopApplication', { params: { applicationId: stoppedId } });
    await setup.reaches(stoppedId, 'STOPPED');
    const addresses = { web: await setup.link(webId), store: await setup.link(storeId) };
    const kept = (await setup.fetch(addresses.store)).body;
    expect(kept).toMatch(/^[0-9a-f-]{36}\n$/);

    await loseAllProcesses(setup);
    await expect(setup.fetch(addresses.web)).rejects.toThrow(/ECONNREFUSED/);
    // The start of the machine does this.
    await setup.engine.start();
    await setup.davit.serve();

    const back = async (address: string): Promise<string | undefined> => {
      const answer = await setup.fetch(address).catch(() => null);
      return answer?.status === 200 ? answer.body : undefined;
    };
    expect(await eventually(() => back(addresses.web), 'the stateless one')).toBe('stateless\n');
    expect(await eventually(() => back(addresses.store), 'the one with data')).toBe(kept);
    for (const id of [webId, storeId]) expect((await setup.status(id)).state).toBe('DEPLOYED');
    expect((await setup.status(stoppedId)).state).toBe('STOPPED');
    expect(await running(setup, stoppedId)).toBe(0);
    // Each service has exactly one instance: none was started in addition to an existing one.
    for (const id of [webId, storeId]) expect(await running(setup, id)).toBe(1);
    expect(await setup.deploy(webId)).toMatchObject({ state: 'DEPLOYED' });
  });
});

async function running({ docker }: TestSetup, id: string): Promise<number> {
  return (await docker.listContainers({ filters: { label: [`davit.service=${id}`] } })).length;
}

/** Kills the server, the database, the gateway, the engine and every process in the engine, as a power failure does. */
async function loseAllProcesses(setup: TestSetup): Promise<void> {
  const { docker, davit, engine } = setup;
  const containers = await docker.listContainers({ filters: { label: ['davit.service'] } });
  const processes = await Promise.all(containers.map(async ({ Id }) => (await docker.getContainer(Id).inspect()).State.Pid));
  await davit.kill('SIGKILL');
  for (const file of ['gateway/pid', 'postgres/cluster/data/postmaster.pid']) {
    const [pid = ''] = readFileSync(join(davit.folder, file), 'utf8').split('\n');
    kill(Number(pid));
  }
  for (const pid of await descendantsOf(engine.pid())) kill(pid);
  // The monitors of Podman's containers are not children of the engine, and would report how the containers ended.
  for (const pid of await mentioning(containers.map(({ Id }) => Id))) kill(pid);
  for (const pid of processes) kill(pid);
  const engineProcess = engine.pid();
  await eventually(
    async () => (/^State:\s+[^Z]/m.test(textOf(engineProcess, 'status')) ? undefined : true),
    'the end of the engine',
  );
  engine.forget();
}

async function descendantsOf(root: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const pid of await allProcesses()) parents.set(pid, Number(/^PPid:\s+(\d+)/m.exec(textOf(pid, 'status'))?.[1] ?? 0));
  const found = [root];
  for (const one of found) for (const [pid, parent] of parents) if (parent === one) found.push(pid);
  return found;
}

async function mentioning(words: readonly string[]): Promise<number[]> {
  return (await allProcesses()).filter((pid) => words.some((word) => textOf(pid, 'cmdline').includes(word)));
}

async function allProcesses(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

// Returns an empty text once the process has exited.
function textOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // The process has already exited.
  }
}
