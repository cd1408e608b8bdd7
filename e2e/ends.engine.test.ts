import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

const graceSeconds = 15;

/** Serves its version, and ends only when it is killed. */
const Dockerfile = `FROM ${busybox}
CMD ["/bin/sh", "-c", "trap '' TERM; mkdir -p /www; echo -n $VERSION > /www/index.html; exec httpd -f -p 3000 -h /www"]
`;

describe.each(testEngineKinds())('on %s', (kind) => {
  let setup: TestSetup;
  let id = '';
  let variableId = '';
  let version = 0;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_TERMINATION_GRACE_SECONDS: String(graceSeconds) });
    const { url } = setup.repository('stubborn', { Dockerfile });
    const ports = [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const }];
    id = await setup.application('stubborn', url, { ports, memory: 64 });
    const body = { key: 'VERSION', value: '0' };
    const params = { applicationId: id };
    variableId = (await setup.davit.client.call('createApplicationEnvironmentVariable', { params, body })).id;
    await setup.deploy(id);
  });
  afterAll(async () => {
    await setup?.close();
  });

  /** Deploys the next version, and waits until the gateway serves it. */
  async function deployNext(): Promise<void> {
    version += 1;
    const body = { key: 'VERSION', value: String(version) };
    const params = { applicationId: id };
    const { client } = setup.davit;
    await client.call('editApplicationEnvironmentVariable', {
      params: { ...params, environmentVariableId: variableId },
      body,
    });
    await client.call('redeployApplication', { params });
    await isServed();
  }

  async function isServed(): Promise<void> {
    const link = await setup.link(id);
    const answersVersion = async () => ((await setup.fetch(link)).body === String(version) ? true : undefined);
    await eventually(answersVersion, `version ${version}`, 120_000);
  }

  async function kill(containers: Awaited<ReturnType<typeof running>>): Promise<void> {
    for (const { Id } of containers) await setup.docker.getContainer(Id).kill();
  }

  const setPeriod = (seconds: number) =>
    setup.davit.client.call('editAdvancedSettings', {
      params: { applicationId: id },
      body: { 'deployment.termination_grace_period_seconds': seconds },
    });

  // On Podman an instance that was asked to end, and has not, is `stopping`.
  const running = async () => (await setup.containers(id)).filter(({ State }) => State === 'running' || State === 'stopping');
  const onlyOneRuns = () =>
    eventually(async () => (await running()).length === 1 || undefined, 'the former instances to end', 120_000);

  test('the end of an instance that ignores SIGTERM holds up no later deployment', async () => {
    await deployNext();
    await deployNext();
    await deployNext();
    // All former instances got SIGTERM, or soon do, and none of them has to end before the next deployment begins.
    expect((await running()).length).toBe(4);
    await setup.reaches(id, 'DEPLOYED');
    await onlyOneRuns();
    expect((await setup.fetch(await setup.link(id))).body).toBe(String(version));
  });

  test('ten deployments in a row wait for no end of an instance, whatever its termination period', async () => {
    await setPeriod(90);
    await deployNext();
    await onlyOneRuns();
    for (let index = 0; index < 10; index += 1) await deployNext();
    // None of the ten former instances had to end. `npm run bench -- ends` measures what ten in a row cost.
    const all = await running();
    expect(all.length).toBe(11);
    // Killed, all end at once, and the current one is started again.
    await kill(all);
    await onlyOneRuns();
    await isServed();
    // The last instance has a short period, so that the end of the test is short as well.
    await setPeriod(1);
    const former = await running();
    await deployNext();
    await kill(former);
    await onlyOneRuns();
  });
});
