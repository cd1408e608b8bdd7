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

  /** Deploys the next version. Returns the milliseconds from the request until the gateway serves that version. */
  async function deployNext(): Promise<number> {
    version += 1;
    const body = { key: 'VERSION', value: String(version) };
    const params = { applicationId: id };
    const { client } = setup.davit;
    await client.call('editApplicationEnvironmentVariable', {
      params: { ...params, environmentVariableId: variableId },
      body,
    });
    const link = await setup.link(id);
    const began = performance.now();
    await client.call('redeployApplication', { params });
    const isServed = async () => ((await setup.fetch(link)).body === String(version) ? true : undefined);
    await eventually(isServed, `version ${version}`, 120_000);
    return performance.now() - began;
  }

  const running = async () => (await setup.containers(id)).filter(({ State }) => State === 'running');
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

  test('ten deployments in a row take as long as ten alone', async () => {
    const alone: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      alone.push(await deployNext());
      await onlyOneRuns();
    }
    const inRow: number[] = [];
    for (let index = 0; index < 10; index += 1) inRow.push(await deployNext());
    const ratio = median(inRow) / median(alone);
    expect(ratio).toBeLessThan(1.5);
    await onlyOneRuns();
  });
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
