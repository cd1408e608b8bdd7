import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadNodeImage } from '@davit/testkit/engine-images';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testEngineKinds } from '@davit/testkit/engines';
import type { ClusterDriver } from '../driver.ts';
import { testWorkload } from '../testing/workload.ts';
import type { Instance, Workload } from '../workload.ts';
import { createDockerDriver } from './driver.ts';
import { call } from './engine-api.ts';
import { runInside } from './exec.ts';
import { holderName } from './names.ts';
import { openTestBed, type TestBed } from './testing.ts';

const signal = new AbortController().signal;

const image = 'davit-test/node:1';

/** A program that says `word` on the TCP ports 8080 and 9090 and on the UDP port 5353. */
const saying = (word: string): string => `
  const { createServer } = require('node:http');
  for (const port of [8080, 9090]) createServer((_, answer) => answer.end('${word}')).listen(port);
  const udp = require('node:dgram').createSocket('udp4').bind(5353);
  udp.on('message', (_, { address, port }) => udp.send('${word}', port, address));
  process.on('SIGTERM', () => process.exit());`;

/** A program that prints the answer to a datagram from a port that is always the same. */
const asking = (address: string): string => `
  const udp = require('node:dgram').createSocket('udp4').bind(7777);
  udp.on('message', (said) => { console.log(String(said)); process.exit(); });
  udp.send('?', 5353, '${address}');
  setTimeout(() => process.exit(1), 5000);`;

for (const kind of testEngineKinds()) {
  describe(`addresses of services on ${kind}`, () => {
    const installation = `test-${randomUUID()}`;
    const environment = randomUUID();
    const logged: string[] = [];
    const context = { signal, log: (line: string): number => logged.push(line) };
    let bed: TestBed;
    let driver: ClusterDriver;
    let client: Instance;

    const workload = (service: string, word: string, changes: Partial<Workload> = {}): Workload =>
      testWorkload({
        owner: { installation, organization: 'o', project: 'p', environment, service },
        image,
        entrypoint: ['node', '-e'],
        arguments: [saying(word)],
        memoryMiB: 256,
        hostnames: ['shop'],
        hasAddress: true,
        ...changes,
      });

    const run = async (wanted: Workload): Promise<readonly Instance[]> => {
      await driver.start(wanted, context);
      return driver.awaitReady(wanted, context);
    };
    const point = async (wanted: Workload): Promise<void> => {
      const instances = await driver.observe({ service: wanted.owner.service, rollout: wanted.rollout }, signal);
      await driver.addresses?.point([{ owner: wanted.owner, hostnames: wanted.hostnames, instances }], signal);
    };
    const inside = async (script: string, instance = client): Promise<string> =>
      (await runInside(bed.opened.docker, instance.id, ['/bin/sh', '-c', script], signal)).output.trim();
    const datagram = async (address: string): Promise<string> => inside(`node -e "${asking(address)}"`);
    const resolved = (name: string): Promise<string> =>
      inside(`nslookup ${name} | sed -n '/^Name/,$s/.*Address[^:]*: *\\([0-9.]*\\).*/\\1/p'`);

    beforeAll(async () => {
      bed = await openTestBed(kind);
      await loadNodeImage(bed.opened.docker, image);
      driver = createDockerDriver({ ...bed.opened, installation, keepsAddresses: true });
      const [started] = await run(
        testWorkload({
          owner: { installation, organization: 'o', project: 'p', environment, service: randomUUID() },
          image,
          entrypoint: ['/bin/sh', '-c'],
          arguments: ["trap 'exit 0' TERM; sleep 3600 & wait"],
          memoryMiB: 256,
          ports: [],
        }),
      );
      if (!started) throw new Error('no client');
      client = started;
    });
    afterAll(async () => driver.removeEnvironment(environment, context));

    it('a client that resolves once reaches all ports of each new rollout, and itself is reached by its own name', async () => {
      const service = randomUUID();
      const first = workload(service, 'one');
      const [own] = await run(first);
      await point(first);
      const address = await resolved('shop');
      expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      expect(address).not.toBe(own?.address);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('one');
      expect(await inside('wget -q -O - http://shop:9090/', own)).toBe('one');
      expect(await datagram(address)).toBe('one');

      const second = workload(service, 'two');
      await run(second);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('one');
      await point(second);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('two');
      expect(await inside(`wget -q -O - http://${address}:9090/`)).toBe('two');
      expect(await datagram(address)).toBe('two');
      await driver.retire({ service, exceptRollout: second.rollout }, 1, context);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('two');
      expect(await resolved('shop')).toBe(address);
      await driver.removeService(environment, service, context);
      expect(await resolved('shop')).toBe('');
      expect(logged).toEqual([]);
    });

    it('new connections reach all instances in turn, and only those it points at', async () => {
      const service = randomUUID();
      const wanted = workload(service, "' + require('node:os').hostname() + '", { instances: 2, hostnames: ['turns'] });
      await run(wanted);
      await point(wanted);
      const answers = (): Promise<string> => inside('for i in 1 2 3 4 5 6; do wget -q -O - http://turns:8080/; echo; done');
      const counts = Map.groupBy((await answers()).split('\n'), (name) => name);
      expect([...counts.values()].map(({ length }) => length)).toEqual([3, 3]);
      const instances = await driver.observe({ service }, signal);
      const owner = wanted.owner;
      await driver.addresses?.point([{ owner, hostnames: wanted.hostnames, instances: instances.slice(0, 1) }], signal);
      expect(new Set((await answers()).split('\n')).size).toBe(1);
      await driver.addresses?.point([{ owner, hostnames: wanted.hostnames, instances: [] }], signal);
      expect(await inside('wget -O - http://turns:8080/ 2>&1')).toContain('refused');
      await driver.removeService(environment, service, context);
    });

    it('an address that was lost comes back the same, with new names if the service has them', async () => {
      const service = randomUUID();
      const wanted = workload(service, 'kept', { hostnames: ['lasting'] });
      await run(wanted);
      await point(wanted);
      const address = await resolved('lasting');
      const holder = `/containers/${holderName({ installation, service })}`;
      await call(bed.opened.docker, { method: 'POST', path: `${holder}/kill`, signal });
      await point(wanted);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('kept');
      await call(bed.opened.docker, { method: 'DELETE', path: holder, query: { force: 'true' }, signal });
      // Another process of Davit sees to it, which has never seen the holder.
      driver = createDockerDriver({ ...bed.opened, installation, keepsAddresses: true });
      await point(wanted);
      expect(await inside(`wget -q -O - http://${address}:8080/`)).toBe('kept');
      await point({ ...wanted, hostnames: ['renamed'] });
      expect(await resolved('renamed')).toBe(address);
      expect(await inside('wget -q -O - http://renamed:8080/')).toBe('kept');
      await driver.removeService(environment, service, context);
    });

    it('an observation changes nothing if it is outdated, or if the address points there already', async () => {
      const service = randomUUID();
      const wanted = workload(service, 'now', { hostnames: ['current'] });
      await run(wanted);
      await point(wanted);
      const { owner, hostnames } = wanted;
      let asked = 0;
      const isCurrent = async (): Promise<boolean> => (asked += 1) > 1;
      const observed = (instances: readonly Instance[]) =>
        driver.addresses?.point([{ owner, hostnames, instances, isCurrent }], signal);
      await observed(await driver.observe({ service }, signal));
      expect(asked).toBe(0);
      await observed([]);
      expect(asked).toBe(1);
      expect(await inside('wget -q -O - http://current:8080/')).toBe('now');
      await observed([]);
      expect(await inside('wget -O - http://current:8080/ 2>&1')).toContain('refused');
      await driver.removeService(environment, service, context);
    });

    it('a service of an earlier version gets its address with its next rollout, without an interruption', async () => {
      const service = randomUUID();
      const { hasAddress: _, ...former } = workload(service, 'former', { hostnames: ['older'] });
      const [old] = await run(former);
      await point(former);
      expect(await resolved('older')).toBe(old?.address);
      const next = workload(service, 'next', { hostnames: ['older'] });
      await run(next);
      expect(await inside('wget -q -O - http://older:8080/')).toBe('former');
      await point(next);
      await driver.retire({ service, exceptRollout: next.rollout }, 1, context);
      expect(await inside('wget -q -O - http://older:8080/')).toBe('next');
      await driver.removeService(environment, service, context);
    });

    it('on a machine whose nftables does not work, names lead to the instances, and the log says so', async () => {
      const service = randomUUID();
      const bare = createDockerDriver({ ...bed.opened, installation, keepsAddresses: true });
      const path = process.env['PATH'];
      const folder = mkdtempSync(join(tmpdir(), 'davit-nft-'));
      writeFileSync(join(folder, 'nft'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
      process.env['PATH'] = `${folder}:${path}`;
      try {
        const wanted = workload(service, 'bare', { hostnames: ['bare'] });
        logged.length = 0;
        await bare.start(wanted, context);
        const [instance] = await bare.awaitReady(wanted, context);
        expect(logged.join('\n')).toMatch(/lead to its instances themselves.*nft failed/);
        expect(await resolved('bare')).toBe(instance?.address);
      } finally {
        process.env['PATH'] = path;
        rmSync(folder, { recursive: true });
        await bare.removeService(environment, service, context);
      }
    });
  });
}
