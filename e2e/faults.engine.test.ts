import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { groupOf } from '../packages/drivers/src/docker/pressure.ts';
import { TestSubscriber } from '../packages/server/src/resources/stream/testing.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

/*
 * A fault after DEPLOYED appears within seconds in the status, the log, the stream and the metrics. It disappears once
 * the fault is over.
 */

const steadySeconds = 5;
const withinMilliseconds = 5_000;

const script = `
mkdir -p /www
echo fine >/www/health
httpd -p 3000 -h /www
echo ready
while :; do
  if [ -e /tmp/crash ]; then echo the last words; sleep 1; exit 3; fi
  if [ -e /tmp/eat ]; then rm /tmp/eat; exec tail /dev/zero; fi
  sleep 0.1
done
`;
const files = { 'run.sh': script, Dockerfile: `FROM ${busybox}\nCOPY run.sh /run.sh\nCMD ["sh", "/run.sh"]\n` };
const fields = {
  ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const }],
  memory: 32,
  healthchecks: {
    liveness_probe: {
      type: { http: { path: '/health', port: 3000 } },
      // A busy machine may take seconds until the server of an instance listens, or answers.
      initial_delay_seconds: 5,
      timeout_seconds: 5,
      period_seconds: 1,
      failure_threshold: 2,
    },
  },
};

/** Returns whether the control group of a process contains nine tenths of the processes that it may contain. */
function isNearLimit(pid: number): boolean {
  for (let folder = groupOf(readFileSync(`/proc/${pid}/cgroup`, 'utf8'), 'pids'); folder !== null; folder = dirname(folder)) {
    const limit = join(folder, 'pids.max');
    if (!existsSync(limit)) return false;
    const most = Number(readFileSync(limit, 'utf8'));
    if (!Number.isNaN(most)) return Number(readFileSync(join(folder, 'pids.current'), 'utf8')) >= most * 0.9;
  }
  return false;
}

describe.each(testEngineKinds())('on %s', (kind) => {
  let setup: TestSetup;
  let id = '';
  let ear: TestSubscriber;
  beforeAll(async () => {
    const settings = { DAVIT_STEADY_SECONDS: String(steadySeconds), DAVIT_READY_TIMEOUT_SECONDS: '20' };
    setup = await TestSetup.open(kind, { ...settings, DAVIT_TERMINATION_GRACE_SECONDS: '1' });
    const { organizationId } = setup;
    const { client } = setup.davit;
    ear = new TestSubscriber((signal) =>
      client.stream('streamOrganization', { params: { organizationId }, query: { kinds: 'CONDITION' }, signal }),
    );
    id = await setup.application('faulty', setup.repository('faulty', files).url, fields);
    await setup.deploy(id);
    await setup.reaches(id, 'DEPLOYED');
  });
  afterAll(async () => {
    await ear?.close();
    await setup?.close();
  });

  type Status = Awaited<ReturnType<TestSetup['status']>>;

  const reaches = (is: (status: Status) => boolean): Promise<Status> =>
    eventually(
      async () => {
        const status = await setup.status(id);
        return is(status) ? status : undefined;
      },
      'a status of the service',
      60_000,
    );
  const isWell = ({ conditions, running_status: word }: Status): boolean => conditions?.length === 0 && word === 'RUNNING';

  /** Runs a command in the instance. The command is retried, because the instance may be restarting. */
  const inside = (command: string, service = id): Promise<void> =>
    eventually(async () => {
      const [container] = await setup.containers(service);
      const exec = await setup.docker
        .getContainer(container?.Id ?? '')
        .exec({ Cmd: ['sh', '-c', command] })
        .catch(() => null);
      if (exec === null) return undefined;
      return exec.start({ Detach: true }).then(
        () => true,
        () => undefined,
      );
    }, `the command ${command}`).then(() => undefined);

  /** Returns the delay in milliseconds between an event and the condition of this kind on the stream. */
  const reportedAfter = async (kindOfCondition: string, happenedAt: string): Promise<number> => {
    const isIt = (one: TestSubscriber['received'][number]): boolean =>
      one.event === 'CONDITION' && one.data.service_id === id && one.data.kind === kindOfCondition && one.data.severity !== null;
    await ear.until((received) => received.some(isIt));
    const reported = ear.received.find(isIt);
    return Date.parse(reported?.event === 'CONDITION' ? reported.data.at : '') - Date.parse(happenedAt);
  };
  const ends = async (cause: string): Promise<number> => {
    const text = await (await fetch(`${setup.davit.url}/metrics`)).text();
    const line = text
      .split('\n')
      .find((one) => one.startsWith('davit_service_instance_ends_total') && one.includes(id) && one.includes(`"${cause}"`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const ownLines = async (service = id): Promise<string> => {
    const { results: lines } = await setup.davit.client.call('listApplicationLog', { params: { applicationId: service } });
    return lines
      .map(({ message }) => message)
      .filter((message) => message.startsWith('Davit: '))
      .join('\n');
  };

  test('an instance that is killed for its memory, and runs again', async () => {
    await inside('touch /tmp/eat');
    const status = await reaches(({ conditions }) => conditions?.some(({ code }) => code === 'OUT_OF_MEMORY') === true);
    const condition = status.conditions?.find(({ kind: word }) => word === 'INSTANCE_END');
    expect(condition).toMatchObject({
      code: 'OUT_OF_MEMORY',
      message: expect.stringContaining('more than its 32 MiB of memory'),
      hint: expect.stringContaining('Raise memory'),
      link: '/docs/errors#out_of_memory',
      evidence: { exit: { code: 137, out_of_memory: true }, lines: expect.arrayContaining(['ready']) },
    });
    expect(await reportedAfter('INSTANCE_END', condition?.since ?? '')).toBeLessThan(withinMilliseconds);
    await reaches(({ running_status: word }) => word === 'WARNING' || word === 'ERROR');
    expect(await ownLines()).toMatch(/Davit: WARNING OUT_OF_MEMORY: .*It is restarted/);
    expect(await ends('out_of_memory')).toBe(1);
    await reaches(isWell);
    expect(await ownLines()).toMatch(/Davit: OUT_OF_MEMORY is over/);
  });

  test('a liveness probe that fails', async () => {
    await inside('rm /www/health');
    const status = await reaches(({ conditions }) => conditions?.some(({ kind: word }) => word === 'LIVENESS') === true);
    const condition = status.conditions?.find(({ kind: word }) => word === 'LIVENESS');
    expect(condition).toMatchObject({
      code: 'PROBE_FAILED',
      evidence: { probe: expect.arrayContaining([expect.stringContaining('404')]) },
    });
    expect(await reportedAfter('LIVENESS', condition?.since ?? '')).toBeLessThan(withinMilliseconds);
    // All ends are named, so that a failure shows what was counted instead.
    const all = async () => ({ probe: await ends('probe_failed'), exit: await ends('process_exited') });
    await expect.poll(all, { timeout: 30_000 }).toEqual({ probe: 1, exit: 0 });
    await reaches(isWell);
  });

  test('a crash loop, until it is mended', async () => {
    const former = ear.received.length;
    await inside('touch /tmp/crash');
    const ofLoop = ({ conditions }: Status) =>
      conditions?.find(
        ({ kind: word, severity, code }) => word === 'INSTANCE_END' && severity === 'ERROR' && code === 'PROCESS_EXITED',
      );
    const status = await reaches((one) => ofLoop(one) !== undefined);
    expect(ofLoop(status)).toMatchObject({
      message: expect.stringMatching(/exited with code 3\. It ended \d+ times within 10 minutes\. It is restarted/),
      evidence: { exit: { code: 3, out_of_memory: false }, lines: expect.arrayContaining(['the last words']) },
    });
    await reaches(({ running_status: word }) => word === 'ERROR');
    await eventually(async () => ((await ends('process_exited')) >= 2 ? true : undefined), 'its ends in metrics', 30_000);
    await ear.until((received) =>
      received.slice(former).some((one) => one.event === 'CONDITION' && one.data.severity === 'ERROR'),
    );
    await eventually(
      async () => {
        await inside('rm -f /tmp/crash');
        return isWell(await setup.status(id)) ? true : undefined;
      },
      'the service to be well',
      120_000,
    );
  });

  test('a full process table, until processes end', async () => {
    // The forking shell ends when a fork is refused. Its processes stay for a while; the server itself starts none.
    const forks = `(while [ ! -e /tmp/fork ]; do sleep 0.1; done; while :; do sleep 40 & done) & exec httpd -f -p 3000 -h /`;
    const image = `FROM ${busybox}\nCMD ["sh", "-c", ${JSON.stringify(forks)}]\n`;
    const { ports } = fields;
    const other = await setup.application('forks', setup.repository('forks', { Dockerfile: image }).url, {
      ports,
      cpu: 2000,
      memory: 2048,
    });
    await setup.deploy(other);
    await setup.reaches(other, 'DEPLOYED');
    const [container] = await setup.containers(other);
    const { State } = await setup.docker.getContainer(container?.Id ?? '').inspect();
    await inside('touch /tmp/fork', other);
    const fullAt = await eventually(() => Promise.resolve(isNearLimit(State.Pid) ? Date.now() : undefined), 'processes', 60_000);
    const condition = await eventually(
      async () => (await setup.status(other)).conditions?.find(({ code }) => code === 'PROCESS_LIMIT'),
      'the condition',
      30_000,
    );
    expect(condition).toMatchObject({
      kind: 'PROCESSES',
      severity: 'WARNING',
      message: expect.stringMatching(/has \d+ processes and threads.* limit is 4096/),
      hint: expect.stringMatching(/./),
      link: '/docs/errors#process_limit',
      evidence: { lines: expect.arrayContaining([expect.stringMatching(/^about \d{4} × \w+$/)]) },
    });
    expect(Date.parse(condition.since) - fullAt).toBeLessThan(withinMilliseconds);
    const ofOther = (one: TestSubscriber['received'][number]): boolean =>
      one.event === 'CONDITION' && one.data.service_id === other && one.data.kind === 'PROCESSES';
    await ear.until((received) => received.some(ofOther));
    const isWarned = async () => (await setup.status(other)).running_status === 'WARNING' || undefined;
    await eventually(isWarned, 'the status WARNING', 30_000);
    expect(await ownLines(other)).toMatch(/Davit: WARNING PROCESS_LIMIT: /);
    await eventually(async () => isWell(await setup.status(other)) || undefined, 'the service to be well', 120_000);
    expect(await ownLines(other)).toMatch(/Davit: PROCESS_LIMIT is over/);
  });

  test('an instance that listens for itself only is explained in the log long before the deployment fails', async () => {
    const alone = `FROM ${busybox}\nCMD ["httpd", "-f", "-p", "127.0.0.1:3000", "-h", "/tmp"]\n`;
    const other = await setup.application('alone', setup.repository('alone', { Dockerfile: alone }).url, { ports: fields.ports });
    const status = await setup.deploy(other);
    expect(status.failure).toMatchObject({ code: 'PORT_NOT_LISTENING' });
    const lines = await setup.davit.client.call('listEnvironmentLogs', { params: { environmentId: setup.environmentId } });
    const output = lines.find((line) =>
      line.message?.safe_message?.startsWith('Instance 0: The process listens on 127.0.0.1:3000 only'),
    );
    const failed = lines.findLast((line) => line.error !== undefined && line.error !== null);
    expect(Date.parse(failed?.timestamp ?? '') - Date.parse(output?.timestamp ?? '')).toBeGreaterThan(10_000);
  });
});
