import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { sample, string } from 'fast-check';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sensitive } from '@davit/base';
import { loadNodeImage } from '@davit/testkit/engine-images';
import { testEngineKinds } from '@davit/testkit/engines';
import { EngineClient } from '@davit/testkit/engine-client';
import type { ClusterDriver, InstanceUsage } from '../driver.ts';
import { DriverError } from '../errors.ts';
import { testWorkload } from '../testing/workload.ts';
import type { Instance, LogLine, Workload } from '../workload.ts';
import { toArchive } from './archive.ts';
import { createDockerDriver } from './driver.ts';
import { call } from './engine-api.ts';
import { runInside } from './exec.ts';
import { inspect } from './instances.ts';
import { bridgeName, networkName } from './names.ts';
import { busybox, openTestBed, serving, type TestBed } from './testing.ts';

const signal = new AbortController().signal;
const sh = (script: string): Pick<Workload, 'entrypoint' | 'arguments'> => ({
  entrypoint: ['/bin/sh', '-c'],
  arguments: [script],
});

for (const kind of testEngineKinds()) {
  describe(`the docker driver on ${kind}`, () => {
    const installation = `test-${randomUUID()}`;
    const environment = randomUUID();
    const logged: string[] = [];
    const context = { signal, log: (line: string): number => logged.push(line) };
    let bed: TestBed;
    let driver: ClusterDriver;

    beforeAll(async () => {
      bed = await openTestBed(kind);
      driver = createDockerDriver({ ...bed.opened, installation });
    });
    afterAll(async () => driver.removeEnvironment(environment, context));

    const workload = (changes: Partial<Workload> = {}): Workload =>
      testWorkload({
        owner: { installation, organization: 'o', project: 'p', environment, service: randomUUID() },
        image: busybox,
        ...sh(serving(8080)),
        ...changes,
      });

    const run = async (requested: Workload): Promise<Instance> => {
      await driver.start(requested, context);
      const [instance] = await driver.awaitReady(requested, context);
      if (!instance) throw new Error('no instance');
      return instance;
    };

    const failure = async (requested: Workload): Promise<DriverError> => {
      try {
        await run(requested);
      } catch (error) {
        if (error instanceof DriverError) return error;
        throw error;
      } finally {
        await driver.retire({ service: requested.owner.service }, 0, context);
      }
      throw new Error('the workload became ready');
    };

    const inside = async (instance: Instance, script: string): Promise<string> => {
      const { output, code } = await runInside(bed.opened.docker, instance.id, ['/bin/sh', '-c', script], signal);
      if (code !== 0) throw new Error(`${script}: code ${code}: ${output}`);
      return output;
    };

    describe('tells what is used', () => {
      it('of processor time and memory by an instance that works, and of disk by its volume', async () => {
        const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
        const busy = sh('dd if=/dev/zero of=/data/file bs=1M count=5; touch /data/done; while :; do :; done');
        const requested = workload({ ...busy, ports: [], volumes, cpuMillicores: 300 });
        const instance = await run(requested);
        await inside(instance, 'while [ ! -e /data/done ]; do :; done');
        const mine = async (): Promise<InstanceUsage> => {
          const usage = (await driver.metrics?.usage(signal))?.find(({ id }) => id === instance.id);
          if (usage === undefined) throw new Error('no usage');
          return usage;
        };
        const before = await mine();
        await expect
          .poll(async () => (await mine()).cpuMilliseconds - before.cpuMilliseconds, { timeout: 20_000 })
          .toBeGreaterThan(300);
        const after = await mine();
        // The limit of the instance is three tenths of a processor.
        expect((after.cpuMilliseconds - before.cpuMilliseconds) / (after.at - before.at)).toBeLessThan(0.45);
        expect(after.memoryBytes).toBeLessThan(64 * 1024 * 1024);
        const held = (await driver.metrics?.volumes(signal))?.find(({ service }) => service === requested.owner.service);
        expect(held?.bytes).toBeGreaterThanOrEqual(5 * 1024 * 1024);
        await driver.removeService(environment, requested.owner.service, context);
      });
    });

    describe('runs an init process in instances', () => {
      const stopTime = async (instance: Instance): Promise<number> => {
        const began = performance.now();
        await driver.retire({ service: instance.service }, 30, context);
        return performance.now() - began;
      };

      it('which reaps what others left, and ends a program that does not handle SIGTERM', async () => {
        // The shell starts a process that outlives its parent, like servers that fork twice.
        const instance = await run(workload({ ...sh('(sleep 0.2 &); (sleep 0.2 &); sleep 1000; true'), ports: [] }));
        const count = (line: string): string => `grep -l "${line}" /proc/[0-9]*/status 2>/dev/null | wc -l`;
        await expect.poll(() => inside(instance, count('^Name:.sleep')), { timeout: 10_000 }).toBe('1\n');
        expect(await inside(instance, count('^State:.Z'))).toBe('0\n');
        expect(await stopTime(instance)).toBeLessThan(20_000);
      });

      it('which passes exit codes and signals on', async () => {
        for (const [script, code] of [
          ['exit 7', 7],
          ['kill -SEGV $$', 139],
        ] as const) {
          const requested = workload({ ...sh(script), ports: [], runsOnce: true });
          await driver.start(requested, context);
          const end = async () => (await driver.observe({ service: requested.owner.service }, signal))[0]?.exit?.code;
          await expect.poll(end, { timeout: 20_000 }).toBe(code);
          await driver.retire({ service: requested.owner.service }, 0, context);
        }
      });

      it('but not where the program is an init process itself, which has to be the first one', async () => {
        // Busybox acts as `init` under that name, and exits at once if it is not process 1.
        const ordinary = await run(workload({ ...sh('sleep 1000; true'), ports: [] }));
        const asInit = await run(workload({ entrypoint: ['/bin/init'], arguments: [], ports: [] }));
        const initOf = async ({ id }: Instance) => (await inspect(bed.opened.docker, id, signal))?.HostConfig.Init;
        expect(await initOf(ordinary)).toBe(true);
        expect(await initOf(asInit)).not.toBe(true);
        await Promise.all([stopTime(ordinary), driver.retire({ service: asInit.service }, 0, context)]);
      });
    });

    describe('tells how instances end', () => {
      it('also when the engine, or Davit, has started them again', async () => {
        const stop = new AbortController();
        const watching = driver.watch(() => undefined, stop.signal);
        try {
          const instance = await run(workload({ ...sh('trap "exit 5" TERM; while :; do sleep 0.1; done'), ports: [] }));
          await inside(instance, 'kill -TERM $(ps | grep "[t]rap" | head -n 1 | sed "s/^ *//;s/ .*//")').catch(() => '');
          const now = async () => (await driver.observe({ service: instance.service }, signal))[0];
          await expect.poll(async () => (await now())?.lastEnd?.code, { timeout: 20_000 }).toBe(5);
          const end = (await now())?.lastEnd;
          if ((await now())?.state !== 'RUNNING') await driver.revive(instance.id, context);
          await expect.poll(async () => (await now())?.state, { timeout: 20_000 }).toBe('RUNNING');
          expect((await now())?.lastEnd).toEqual(end);
          await driver.retire({ service: instance.service }, 0, context);
        } finally {
          stop.abort();
          await watching.catch(() => undefined);
        }
      });

      it('tells how near they are to their limits', async () => {
        const instance = await run(workload({ ...sh('(tail /dev/zero); sleep 1000; true'), ports: [], memoryMiB: 32 }));
        const mine = async () => {
          await driver.observe({}, signal);
          return (await driver.metrics?.pressure(signal))?.find(({ id }) => id === instance.id);
        };
        await expect.poll(async () => (await mine())?.memoryKills, { timeout: 30_000 }).toBe(1);
        const pressure = await mine();
        expect(pressure?.processes).toMatchObject({ limit: 4096, refused: 0 });
        expect(pressure?.processes?.current).toBeGreaterThan(0);
        expect(pressure?.disks).toEqual([expect.objectContaining({ path: '/' })]);
        await driver.retire({ service: instance.service }, 0, context);
      });
    });

    it('says in the log which data of an image is lost with each instance', async () => {
      const { id } = await call<{ readonly Id: string }>(bed.opened.docker, {
        method: 'POST',
        path: '/containers/create',
        body: { Image: busybox, Cmd: ['true'] },
        signal,
      }).then(({ body }) => ({ id: body.Id }));
      const image = 'davit-test/with-volume:1';
      const query = { container: id, repo: 'davit-test/with-volume', tag: '1', changes: 'VOLUME /data' };
      await call(bed.opened.docker, { method: 'POST', path: '/commit', query, body: { Cmd: ['true'] }, signal });
      await call(bed.opened.docker, { method: 'DELETE', path: `/containers/${id}`, signal });
      const requested = workload({ image, ports: [], ...sh('sleep 600') });
      logged.length = 0;
      await run(requested);
      expect(logged).toEqual([expect.stringContaining('VOLUME /data')]);
      await driver.removeService(environment, requested.owner.service, context);
      await call(bed.opened.docker, { method: 'DELETE', path: `/images/${image}`, signal, accept: [404, 409] });
    });

    it('tells what an instance has written into its own file system, and removes it with that', async () => {
      const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
      const requested = workload({ ports: [], volumes, ...sh('trap "exit 0" TERM; sleep 600 & wait') });
      const instance = await run(requested);
      const written = async (): Promise<number> => (await driver.disk?.written(instance.id, signal)) ?? -1;
      expect(await written()).toBeLessThan(100_000);
      await inside(instance, 'dd if=/dev/zero of=/big bs=1M count=5; dd if=/dev/zero of=/data/big bs=1M count=20');
      expect(await written()).toBeGreaterThanOrEqual(5 * 1024 * 1024);
      expect(await written()).toBeLessThan(6 * 1024 * 1024);
      await driver.disk?.remove(instance.id, 2, context);
      expect(await driver.disk?.written(instance.id, signal)).toBeNull();
      await driver.disk?.remove(instance.id, 2, context);
      expect(
        (await driver.metrics?.volumes(signal))?.find(({ service }) => service === requested.owner.service)?.bytes,
      ).toBeGreaterThan(20_000_000);
      await driver.removeService(environment, requested.owner.service, context);
    });

    describe('gives a process what was asked', () => {
      it('keeps the address of an environment’s bridge while instances come and go, so that none of them loses it', async () => {
        const requested = workload();
        await run(requested);
        const address = (): Promise<string> => readFile(`/sys/class/net/${bridgeName(requested.owner)}/address`, 'utf8');
        const before = await address();
        const neighbours = workload({ instances: 6 });
        await run(neighbours);
        expect(await address()).toBe(before);
        await driver.retire({ service: neighbours.owner.service }, 1, context);
        expect(await address()).toBe(before);
        await driver.retire({ service: requested.owner.service }, 1, context);
      });

      it('passes any text through variables byte for byte', async () => {
        // No environment can hold NUL, or lone surrogates, which have no UTF-8 encoding.
        const text = string({ unit: 'binary', maxLength: 40 }).filter((value) => !value.includes('\0') && value.isWellFormed());
        const awkward = [
          '',
          '$HOME',
          '`id`',
          '"q"',
          "'q'",
          'a\nb',
          'a\r\nb\t',
          '=',
          ' x ',
          '*',
          '\\',
          '#c',
          '${X:-y}',
          '🛶é',
          '%s',
          '\u0001',
        ];
        const values = [...awkward, ...sample(text, 200)];
        const names = values.map((_, index) => `V_${index}`);
        const requested = workload({
          environment: values.map((value, index) => ({ name: `V_${index}`, value: new Sensitive(value) })),
          ports: [],
          ...sh('hexdump -v -e \'1/1 "%02x"\' /proc/self/environ; echo; sleep 60'),
        });
        const instance = await run(requested);
        const [line] = await linesOf(driver, instance.id, 1);
        // The shell started hexdump with the environment it was given. The shell may add variables but not change them.
        const entries = Buffer.from(line?.text ?? '', 'hex')
          .toString('utf8')
          .split('\0');
        const seen = new Map(entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]));
        expect(names.map((name) => seen.get(name))).toEqual(values);
        await driver.retire({ rollout: requested.rollout }, 0, context);
      });

      it('says which variable has a character that no process can get', async () => {
        const error = await failure(workload({ environment: [{ name: 'KEY', value: new Sensitive('secret-a\0b') }] }));
        expect(error.code).toBe('START_FAILED');
        expect(error.message).toContain('KEY');
        expect(error.message).not.toContain('secret-a');
      });

      it('puts files where no folder is yet and into volumes, readable and not writable, before the process starts', async () => {
        const requested = workload({
          files: [
            { path: '/etc/deep/er/config.json', content: new Sensitive('{"käse":1}\n') },
            { path: '/data/sub/seed', content: new Sensitive('seed') },
          ],
          volumes: [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }],
          ...sh(serving(8080, 'cat /etc/deep/er/config.json /data/sub/seed;')),
        });
        const instance = await run(requested);
        expect(await inside(instance, 'cat /etc/deep/er/config.json /data/sub/seed')).toBe('{"käse":1}\nseed');
        expect(await inside(instance, 'stat -c "%a %u:%g" /etc/deep/er/config.json')).toBe('444 0:0\n');
        const lines = await linesOf(driver, instance.id, 3);
        expect(lines.map(({ text }) => text)).toContain('{"käse":1}');
      });

      it('lets services of an environment reach each other by name, and none of another environment', async () => {
        const server = workload({ hostnames: ['shop', 'shop-api'] });
        await run(server);
        // Resolves names with getaddrinfo of glibc, like most images: through Node.js.
        const node = { image: await loadNodeImage(bed.opened.docker, 'davit-test/node:1'), memoryMiB: 256, ports: [] };
        const client = await run(workload({ ...node, ...sh('sleep 60') }));
        const fetched = `node -e "fetch('http://shop:8080/').then((a) => a.text()).then(console.log, (e) => console.log(e.cause.code))"`;
        expect(await inside(client, `${fetched}; ${fetched.replace('shop', 'shop-api')}`)).toBe('fine\n\nfine\n\n');
        const elsewhere = workload({
          ...node,
          ...sh('sleep 60'),
          owner: { ...server.owner, environment: randomUUID(), service: randomUUID() },
        });
        expect(await inside(await run(elsewhere), fetched)).toMatch(/ENOTFOUND|EAI_AGAIN/);
        await driver.removeEnvironment(elsewhere.owner.environment, context);
      });

      it('keeps what is in a volume over releases, and removes it with the service', async () => {
        const first = workload({ volumes: [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }] });
        await inside(await run(first), 'echo kept >/data/file');
        await driver.retire({ service: first.owner.service }, 1, context);
        const second = { ...first, rollout: randomUUID() };
        expect(await inside(await run(second), 'cat /data/file')).toBe('kept\n');
        await driver.removeService(environment, first.owner.service, context);
        const { Volumes } = await new EngineClient(bed.engine.socketPath).listVolumes();
        expect(Volumes.filter(({ Labels }) => Labels?.['davit.service'] === first.owner.service)).toEqual([]);
      });

      it('limits memory, processor, processes and privileges', async () => {
        const instance = await run(workload());
        const inspection = await inspect(bed.opened.docker, instance.id, signal);
        expect(inspection?.HostConfig).toMatchObject({
          Memory: 64 * 1024 * 1024,
          MemorySwap: 64 * 1024 * 1024,
          NanoCpus: 500_000_000,
          PidsLimit: 4096,
        });
        expect(await inside(instance, 'grep NoNewPrivs /proc/1/status')).toBe('NoNewPrivs:\t1\n');
        // Bits 27 (MKNOD), 13 (NET_RAW), 29 (AUDIT_WRITE), 31 (SETFCAP) and 8 (SETPCAP) of the bounding set of the
        // process.
        const bounding = BigInt(`0x${(await inside(instance, 'grep CapBnd /proc/1/status | cut -f2')).trim()}`);
        for (const bit of [27n, 13n, 29n, 31n, 8n]) expect((bounding >> bit) & 1n).toBe(0n);
        for (const bit of [0n, 6n, 7n, 10n]) expect((bounding >> bit) & 1n).toBe(1n);
      });

      it('publishes a UDP port of the machine, and says when it is taken', async () => {
        const port = { id: 'dns', internalPort: 5353, protocol: 'UDP' as const, hostPort: 21_053 };
        const requested = workload({ ports: [port], ...sh('sleep 60') });
        await run(requested);
        // The address on which the gateway listens. By default it is reachable from this machine only.
        const sockets = await readFile('/proc/net/udp', 'utf8');
        expect(sockets).toMatch(/: 0100007F:523D /);
        expect(sockets).not.toMatch(/: 00000000:523D /);
        const error = await failure(workload({ ports: [port], ...sh('sleep 60') }));
        expect(error.code).toBe('PORT_TAKEN');
        expect(error.message).toContain('21053');
        await driver.retire({ service: requested.owner.service }, 0, context);
      });
    });

    describe('hands files over as archives', () => {
      const folder = async (): Promise<Buffer> =>
        toArchive([{ name: 'given/word', mode: 0o444, content: new Sensitive('sesame') }]);

      it('what is put into an instance can be taken out of it, also when it has ended', async () => {
        const requested = workload({
          ports: [],
          ...sh('until [ -e /tmp/given/word ]; do sleep 0.1; done; cp -r /tmp/given /tmp/made'),
        });
        await driver.start(requested, context);
        const [instance] = await driver.observe({ service: requested.owner.service }, signal);
        const { id } = instance ?? { id: '' };
        await driver.upload(id, { folder: '/tmp', archive: Readable.from([await folder()]) }, signal);
        await expect
          .poll(async () => (await driver.observe({ service: requested.owner.service }, signal))[0]?.exit?.code, {
            timeout: 20_000,
          })
          .toBe(0);
        const found: [string, string][] = [];
        for await (const entry of (await driver.download(id, '/tmp/made', signal)).pipe(extract())) {
          // Podman writes folder names without a trailing slash.
          found.push([entry.header.name.replace(/\/$/, ''), await text(entry)]);
        }
        expect(found).toEqual([
          ['made', ''],
          ['made/word', 'sesame'],
        ]);
        await expect(driver.download(id, '/tmp/other', signal)).rejects.toMatchObject({ code: 'ENGINE_FAILED' });
      });

      it('an archive that breaks on its way fails with what broke it', async () => {
        const requested = workload({ ports: [], ...sh('trap "exit 0" TERM; while true; do sleep 0.1; done') });
        await driver.start(requested, context);
        const [instance] = await driver.observe({ service: requested.owner.service }, signal);
        const whole = await folder();
        const breaking = async function* (): AsyncGenerator<Buffer> {
          yield whole.subarray(0, 512);
          await Promise.resolve();
          throw new Error('the source broke');
        };
        const putting = driver.upload(instance?.id ?? '', { folder: '/tmp', archive: Readable.from(breaking()) }, signal);
        await expect(putting).rejects.toThrow('the source broke');
      });
    });

    describe('explains failures', () => {
      it('START_FAILED: a program that the image does not have', async () => {
        const error = await failure(workload({ entrypoint: ['/no/such/program'], arguments: [] }));
        expect(error.code).toBe('START_FAILED');
        expect(error.message).toContain('/no/such/program');
      });

      it('START_FAILED: a file that is no program', async () => {
        const file = { path: '/opt/notes', content: new Sensitive('text') };
        const error = await failure(workload({ entrypoint: ['/opt/notes'], arguments: [], files: [file] }));
        expect(error.code).toBe('START_FAILED');
        expect(error.message).toContain('permission denied');
      });

      it('START_FAILED: a program for another processor', async () => {
        const script = workload({ entrypoint: ['/etc/group'], arguments: [] });
        expect((await failure(script)).code).toBe('START_FAILED');
      });

      it('OUT_OF_MEMORY: more memory than the service may have', async () => {
        const requested = workload({
          memoryMiB: 32,
          ...sh('echo filling; tail -c 200m /dev/zero | tail -c 200m >/dev/null; exit 1'),
        });
        const error = await failure({ ...requested, entrypoint: [], arguments: ['tail', '/dev/zero'] });
        expect(error.code).toBe('OUT_OF_MEMORY');
        expect(error.message).toContain('32 MiB');
        expect(error.evidence.exit).toEqual({ code: 137, outOfMemory: true });
      });

      it('OUT_OF_MEMORY: also when only a child was killed and the process gave up for it', async () => {
        const error = await failure(workload({ memoryMiB: 32, ...sh('tail /dev/zero; echo child gone; exit 1') }));
        expect(error.code).toBe('OUT_OF_MEMORY');
        expect(error.evidence.exit).toEqual({ code: 1, outOfMemory: true });
        expect(error.evidence.lines).toEqual(expect.arrayContaining(['Killed', 'child gone']));
      });

      it('PROCESS_EXITED and not OUT_OF_MEMORY: code 137 for another reason', async () => {
        const error = await failure(workload(sh('echo bye; exit 137')));
        expect(error.code).toBe('PROCESS_EXITED');
        expect(error.message).toContain('137');
      });

      it('PROCESS_EXITED: also where its port is open for a moment each time after a first exit', async () => {
        const script = 'mkdir -p /www; [ -e /ran ] || { touch /ran; exit 1; }; httpd -p 8080 -h /www; sleep 1; echo lost; exit 1';
        const error = await failure(workload(sh(script)));
        expect(error.code).toBe('PROCESS_EXITED');
        expect(error.message).toContain('It was started 3 times.');
        expect(error.evidence.lines).toContain('lost');
      });

      it('none for a process that exits once and then stays', async () => {
        const requested = workload(sh(`[ -e /ran ] || { touch /ran; exit 1; }; ${serving(8080)}`));
        const instance = await run(requested);
        expect(await inside(instance, 'echo here')).toContain('here');
        await driver.retire({ service: requested.owner.service }, 0, context);
      });

      it('PORT_NOT_LISTENING: says to listen on all addresses where a process listens for itself only', async () => {
        const error = await failure(
          workload({ ...sh('mkdir /www; httpd -f -p 127.0.0.1:8080 -h /www'), readyTimeoutSeconds: 1 }),
        );
        expect(error.code).toBe('PORT_NOT_LISTENING');
        expect(error.message).toContain('127.0.0.1:8080');
        expect(error.hint).toContain('0.0.0.0');
        expect(error.evidence.listening).toEqual(['127.0.0.1:8080']);
      });

      it('PORT_NOT_LISTENING: says in the log after some seconds, long before the time is over, that it listens for itself only', async () => {
        const requested = workload({ ...sh('mkdir /www; httpd -f -p 127.0.0.1:8080 -h /www'), readyTimeoutSeconds: 300 });
        const cancel = new AbortController();
        const lines: string[] = [];
        const log = (line: string): void => {
          lines.push(line);
          cancel.abort();
        };
        await driver.start(requested, context);
        const began = performance.now();
        await driver.awaitReady(requested, { signal: cancel.signal, log }).catch(() => undefined);
        expect(lines).toEqual([
          expect.stringMatching(/^Instance 0: The process listens on 127\.0\.0\.1:8080 only, .*0\.0\.0\.0/),
        ]);
        expect(performance.now() - began).toBeLessThan(20_000);
      });

      it('PORT_NOT_LISTENING: also when a probe is what fails for it', async () => {
        const readiness = { ...timing, check: { type: 'http', port: 3000, path: '/', scheme: 'HTTP' } as const };
        const ports = [3000, 8080].map((internalPort) => ({ id: `${internalPort}`, internalPort, protocol: 'HTTP' as const }));
        const error = await failure(workload({ readiness, ports, readyTimeoutSeconds: 1 }));
        expect(error.code).toBe('PORT_NOT_LISTENING');
        expect(error.message).toMatch(/3000.*8080/);
        expect(error.evidence.probe?.join()).toContain('connection refused');
      });

      it('PROBE_FAILED: a command that fails, with its words', async () => {
        const readiness = { ...timing, check: { type: 'exec', command: ['/bin/sh', '-c', 'echo not yet; exit 7'] } as const };
        const error = await failure(workload({ readiness, readyTimeoutSeconds: 1 }));
        expect(error.code).toBe('PROBE_FAILED');
        expect(error.message).toMatch(/exit code 7: not yet/);
      });

      it('PROBE_FAILED: a command that does not end in time', async () => {
        const readiness = { ...timing, check: { type: 'exec', command: ['/bin/sleep', '30'] } as const };
        const error = await failure(workload({ readiness, readyTimeoutSeconds: 2 }));
        expect(error.message).toContain('not finished within 1 s');
      });
    });

    describe('stops and lives on', () => {
      it('stops with SIGTERM, and kills what does not end within the grace', async () => {
        const polite = workload(sh(`trap 'echo bye >/data/bye; exit 0' TERM; httpd -f -p 8080 -h / & wait`));
        const volumes = [{ id: randomUUID(), mountPath: '/data', sizeGiB: 1 }];
        await run({ ...polite, volumes });
        await driver.retire({ rollout: polite.rollout }, 10, context);
        const deaf = { ...polite, volumes, rollout: randomUUID(), ...sh(`trap '' TERM; httpd -f -p 8080 -h / & wait; wait`) };
        const instance = await run(deaf);
        expect(await inside(instance, 'cat /data/bye')).toBe('bye\n');
        const began = Date.now();
        await driver.retire({ rollout: deaf.rollout }, 1, context);
        expect(Date.now() - began).toBeGreaterThan(900);
        expect(await driver.observe({ rollout: deaf.rollout }, signal)).toEqual([]);
      });

      it('finishes an instance that an earlier call left half made', async () => {
        const requested = workload({ files: [{ path: '/etc/x', content: new Sensitive('content') }] });
        const abort = new AbortController();
        const start = driver.start(requested, { signal: abort.signal, log: () => abort.abort(new Error('killed')) });
        await until(async () => (await driver.observe({ rollout: requested.rollout }, signal)).length > 0);
        abort.abort(new Error('killed'));
        await start.catch(() => undefined);
        expect(await inside(await run(requested), 'cat /etc/x')).toBe('content');
        expect(await driver.observe({ service: requested.owner.service }, signal)).toHaveLength(1);
      });

      it('makes the network again when somebody removed it', async () => {
        const requested = workload({ owner: { ...workload().owner, environment: randomUUID() } });
        await run(requested);
        await driver.retire({ service: requested.owner.service }, 0, context);
        await new EngineClient(bed.engine.socketPath).getNetwork(networkName(requested.owner)).remove();
        expect((await run({ ...requested, rollout: randomUUID() })).state).toBe('RUNNING');
        await driver.removeEnvironment(requested.owner.environment, context);
      });

      it('gives long lines cut with a mark, and lines that came in pieces whole', async () => {
        const script = `head -c 12000 /dev/zero | tr '\\0' a; echo; head -c 40000 /dev/zero | tr '\\0' b; echo; echo after; sleep 60`;
        const instance = await run(workload({ ports: [], ...sh(script) }));
        const lines = (await linesOf(driver, instance.id, 3)).map(({ text }) => text);
        expect(lines[0]).toBe('a'.repeat(12_000));
        expect(lines[1]).toBe(`${'b'.repeat(16 * 1024)} [cut: the line is longer than 16 KiB]`);
        expect(lines[2]).toBe('after');
      });

      it('resumes a log after each of many lines of the same second', async () => {
        const instance = await run(workload({ ports: [], ...sh('for i in $(seq 30); do echo $i; done; sleep 60') }));
        const all = await linesOf(driver, instance.id, 30);
        expect(all.map(({ text }) => text)).toEqual(Array.from({ length: 30 }, (_, index) => String(index + 1)));
        for (const at of [0, 10, 28]) {
          const rest = await linesOf(driver, instance.id, 29 - at, all[at]?.timestamp);
          expect(rest).toEqual(all.slice(at + 1));
        }
      });

      it('is told at once that the engine is gone, and finds everything when it is back', async () => {
        const requested = workload();
        const instance = await run(requested);
        const isLeftToDavit = async (): Promise<boolean | undefined> =>
          (await driver.observe({ rollout: requested.rollout }, signal))[0]?.needsRestartPolicy;
        // Podman never restarts instances by itself.
        expect(await isLeftToDavit()).toBe(kind === 'docker' ? true : undefined);
        await driver.setRestartPolicy([instance], signal);
        expect(await isLeftToDavit()).toBeUndefined();
        const following = driver
          .followLogs(instance.id, null, () => undefined, signal)
          .then(
            () => null,
            (error: unknown) => error,
          );
        await bed.engine.stop();
        const error: unknown = await driver.observe({}, signal).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
        await expect(driver.describe(signal)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
        await expect(driver.start(requested, context)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE', retryable: true });
        // Docker ends the instance and its log before the engine exits. Podman cuts the connection.
        const ended = await following;
        expect(ended === null ? 'ended' : ended).toSatisfy(
          (seen) => seen === 'ended' || (seen instanceof DriverError && seen.code === 'ENGINE_UNREACHABLE' && seen.retryable),
        );
        await bed.engine.start();
        // Docker restarts instances that serve by itself. Under Podman the instance never stopped.
        await until(async () => (await driver.observe({ rollout: requested.rollout }, signal))[0]?.state === 'RUNNING');
        const [back] = await driver.awaitReady(requested, context);
        expect(back?.id).toBe(instance.id);
        await driver.revive(instance.id, context);
        const [revived] = await driver.awaitReady(requested, context);
        const endpoint = revived?.endpoints[0];
        expect((await fetch(`http://${endpoint?.host}:${endpoint?.port}/`)).status).toBe(200);
        await driver.retire({ service: requested.owner.service }, 1, context);
        expect(await driver.observe({ service: requested.owner.service }, signal)).toEqual([]);
      });
    });
  });
}

const timing = { initialDelaySeconds: 0, periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 };

async function linesOf(driver: ClusterDriver, id: string, count: number, since?: string): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  const stop = new AbortController();
  const deadline = AbortSignal.timeout(20_000);
  const onLine = (line: LogLine): void => {
    lines.push(line);
    if (lines.length >= count) stop.abort();
  };
  if (count > 0) await driver.followLogs(id, { at: since ?? null }, onLine, AbortSignal.any([stop.signal, deadline]));
  return lines;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not come true within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
