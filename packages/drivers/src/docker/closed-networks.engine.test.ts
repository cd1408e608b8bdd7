import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { testEngineKinds } from '@davit/testkit/engines';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImageBuilder } from './build/index.ts';
import type { ClusterDriver } from '../driver.ts';
import type { Instance, Workload } from '../workload.ts';
import { buildRequest, recordedCall, TestCheckout } from '../shared/build/testing.ts';
import { testWorkload } from '../testing/workload.ts';
import { createDockerDriver } from './driver.ts';
import { call } from './engine-api.ts';
import { runInside } from './exec.ts';
import { bridgeName, networkName } from './names.ts';
import { busybox, openTestBed, serving, type TestBed } from './testing.ts';

const signal = new AbortController().signal;
const context = { signal, log: (): void => undefined };
const installation = `test-${randomUUID()}`;

describe.each(testEngineKinds())('environments on %s', (kind) => {
  const [one, other, third] = [randomUUID(), randomUUID(), randomUUID()];
  let bed: TestBed;
  let driver: ClusterDriver;
  beforeAll(async () => {
    bed = await openTestBed(kind);
    driver = createDockerDriver({ ...bed.opened, installation });
  });
  afterAll(async () => {
    for (const environment of [one, other, third]) await driver.removeEnvironment(environment, context);
  });

  const owned = (environment: string): Workload['owner'] => ({
    installation,
    organization: 'o',
    project: 'p',
    environment,
    service: randomUUID(),
  });
  const run = async (environment: string): Promise<Instance> => {
    const given = { owner: owned(environment), image: busybox, entrypoint: ['/bin/sh', '-c'], arguments: [serving(8080)] };
    const workload = testWorkload(given);
    await driver.start(workload, context);
    const [instance] = await driver.awaitReady(workload, context);
    if (!instance) throw new Error('no instance');
    return instance;
  };
  const hostOf = ({ endpoints }: Instance): string => endpoints[0]?.host ?? '';
  const asking = (host: string): string => `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${host} 8080 || echo closed`;
  const ask = async (from: Instance, to: Instance): Promise<string> =>
    (await runInside(bed.opened.docker, from.id, ['/bin/sh', '-c', asking(hostOf(to))], signal)).output;

  test('are closed to each other by address, also after a third one ended, and open to themselves and to the gateway', async () => {
    const [served, neighbour, stranger, passing] = [await run(one), await run(one), await run(other), await run(third)];
    expect(await ask(neighbour, served)).toContain('fine');
    expect(await ask(stranger, served)).toContain('closed');
    await driver.retire({ rollout: passing.rollout }, 0, context);
    await driver.removeEnvironment(third, context);
    expect(await ask(stranger, served)).toContain('closed');
    expect(await ask(neighbour, served)).toContain('fine');
    const answer = await fetch(`http://${hostOf(served)}:8080/`);
    expect(await answer.text()).toContain('fine');
    expect(rules()).not.toContain(bridgeName({ installation, environment: third }));
  });

  test('are closed to the commands of builds, and so is what listens on the loopback of the machine', async () => {
    const served = await run(one);
    const local = createServer((_, response) => response.end('of the machine'));
    await new Promise<void>((resolve) => local.listen(8080, '127.0.0.1', resolve));
    const checkout = new TestCheckout();
    try {
      checkout.dockerfile(`RUN ${asking(hostOf(served))}; ${asking('127.0.0.1')}`);
      const log = recordedCall();
      const builder = createImageBuilder({ docker: bed.opened.docker, installation });
      const { id } = await builder.build(buildRequest(checkout.folder), log);
      await builder.removeImages([id], log);
      // BuildKit's lines begin with the number of the step.
      const lines = log.lines.map((line) => line.replace(/^#\d+ ([\d.]+ )?/, ''));
      expect(lines.filter((line) => line === 'closed')).toHaveLength(2);
      expect(lines.join('\n')).not.toMatch(/^fine|of the machine/m);
    } finally {
      local.close();
      checkout.remove();
    }
  });

  test('of before, and after the firewall was emptied, are closed when somebody looks', async () => {
    const environment = randomUUID();
    const name = networkName({ installation, environment });
    const bridge = bridgeName({ installation, environment });
    // Earlier versions created the network like this.
    const body = {
      Name: name,
      Driver: 'bridge',
      Options: { 'com.docker.network.bridge.name': bridge },
      Labels: labels(environment),
    };
    await call(bed.opened.docker, { method: 'POST', path: '/networks/create', body, signal });
    const [served, stranger] = [await run(environment), await run(other)];
    expect(await ask(stranger, served)).toContain('closed');
    execFileSync('iptables', ['-w', '5', '-t', 'mangle', '-D', 'DAVIT-CLOSED', '!', '-i', bridge, '-o', bridge, '-j', 'DROP']);
    // A process that starts after a reboot does this.
    await createDockerDriver({ ...bed.opened, installation }).observe({}, signal);
    expect(await ask(stranger, served)).toContain('closed');
    await driver.removeEnvironment(environment, context);
    expect(rules()).not.toContain(bridge);
  });

  const labels = (environment: string): Record<string, string> => ({
    'davit.installation': installation,
    'davit.object': 'network',
    'davit.environment': environment,
  });
});

function rules(): string {
  return execFileSync('iptables', ['-w', '5', '-t', 'mangle', '-S'], { encoding: 'utf8' });
}
