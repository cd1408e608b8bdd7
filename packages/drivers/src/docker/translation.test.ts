import { array, assert, constantFrom, integer, nat, property, record, string, uint8Array, uuid } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Sensitive } from '@davit/base';
import { DriverError } from '../errors.ts';
import type { InstanceEnd, Workload } from '../workload.ts';
import { toArchive } from './archive.ts';
import { fullTraits, toContainerBody, toArchiveEntries } from './container-spec.ts';
import { initRefusal } from '../init-words.ts';
import { isConclusive } from './early-words.ts';
import { Ends, type EngineEvent } from './ends.ts';
import { EngineRefusal } from './engine-api.ts';
import { describeClosed } from '../shared/closed-ports.ts';
import { describeExit } from '../exit-code.ts';
import { FrameReader } from './frames.ts';
import { isKillOf } from './kernel-log.ts';
import { formatPorts, instanceLabels, label, labelFilter, parsePorts } from './labels.ts';
import { matchesSelector } from '../shared/labels.ts';
import { formatListener, isReachable, parseListeners } from '../shared/listening.ts';
import { cutMark, LineAssembler, longestLine, toSince } from '../shared/log-lines.ts';
import { bridgeName, instanceName, networkName, volumeName } from './names.ts';
import { podmanConfiguration } from './own-podman.ts';
import { isInit } from './own-init.ts';
import { countIn, groupOf, mostPrograms } from './pressure.ts';
import { decodeHealthStatus, encodeHealthRequest } from './probes/grpc.ts';
import { lowered, translated } from './refusals.ts';
import { negotiate, toAddress } from './socket.ts';
import { toEvent } from './watch.ts';

const owner = { installation: 'i', organization: 'o', project: 'p', environment: 'e', service: 's' };
const workload = (changes: Partial<Workload> = {}): Workload => ({
  owner,
  name: 'Shop',
  release: 'r',
  rollout: 'ro',
  image: 'sha256:abc',
  entrypoint: [],
  arguments: [],
  environment: [],
  files: [],
  ports: [],
  volumes: [],
  cpuMillicores: 500,
  memoryMiB: 256,
  instances: 1,
  hostnames: [],
  readiness: null,
  liveness: null,
  readyTimeoutSeconds: 10,
  terminationGraceSeconds: 30,
  ...changes,
});

describe('names', () => {
  it('of instances are what engines take, for any name of a service', () => {
    const names = property(string({ unit: 'binary' }), nat(999), (name, index) => {
      expect(instanceName(workload({ name }), index)).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,100}$/);
    });
    assert(names);
  });

  it('are the same for the same rollout and index, and differ otherwise', () => {
    const name = instanceName(workload(), 0);
    expect(instanceName(workload({ release: 'other', image: 'other' }), 0)).toBe(name);
    const others = [
      instanceName(workload(), 1),
      instanceName(workload({ rollout: 'next' }), 0),
      instanceName(workload({ owner: { ...owner, service: 't' } }), 0),
      instanceName(workload({ owner: { ...owner, installation: 'j' } }), 0),
    ];
    expect(new Set([name, ...others]).size).toBe(5);
  });

  it('of bridges fit an interface of Linux', () => {
    assert(property(uuid(), (environment) => bridgeName({ ...owner, environment }).length <= 15));
  });

  it('of volumes differ where ids differ only in what names cannot hold', () => {
    expect(volumeName('i', 'A/b')).not.toBe(volumeName('i', 'a b'));
    expect(volumeName('i', 'a')).not.toBe(volumeName('j', 'a'));
  });
});

describe('labels', () => {
  it('lead back to the selectors that mean an instance, and to no other', () => {
    const labels = instanceLabels(workload(), 2);
    for (const selector of [{}, { environment: 'e' }, { service: 's', rollout: 'ro' }, { exceptRollout: 'other' }])
      expect(matchesSelector(labels, selector)).toBe(true);
    for (const selector of [{ environment: 'x' }, { service: 'x' }, { rollout: 'x' }, { service: 's', exceptRollout: 'ro' }])
      expect(matchesSelector(labels, selector)).toBe(false);
  });

  it('are asked of the engine for everything that is not a negation', () => {
    expect(labelFilter('i', 'instance', { environment: 'e', exceptRollout: 'ro' })).toEqual([
      'davit.installation=i',
      'davit.object=instance',
      'davit.environment=e',
    ]);
  });

  it('carry the ports there and back, and leave out what is none', () => {
    const ports = [
      { id: 'a', internalPort: 80, protocol: 'HTTP' as const },
      { id: 'b', internalPort: 80, protocol: 'GRPC' as const },
      { id: 'c', internalPort: 53, protocol: 'UDP' as const },
    ];
    expect(parsePorts(formatPorts(ports))).toEqual([
      { internalPort: 80, transport: 'tcp' },
      { internalPort: 53, transport: 'udp' },
    ]);
    expect(parsePorts('80,x/tcp,/udp')).toEqual([]);
    expect(parsePorts(undefined)).toEqual([]);
  });
});

describe('the body of a container', () => {
  it('has the limits, the network with aliases, the volumes and the labels', () => {
    const body = toContainerBody(
      workload({ hostnames: ['shop', 'shop'], volumes: [{ id: 'v', mountPath: '/data', sizeGiB: 1 }] }),
      0,
      fullTraits,
    );
    expect(body).toMatchObject({
      Image: 'sha256:abc',
      StopTimeout: 30,
      Labels: { [label.installation]: 'i', [label.rollout]: 'ro', [label.index]: '0', [label.object]: 'instance' },
      HostConfig: {
        NetworkMode: networkName(owner),
        NanoCpus: 500_000_000,
        Memory: 268_435_456,
        MemorySwap: 268_435_456,
        SecurityOpt: ['no-new-privileges'],
        RestartPolicy: { Name: 'no' },
        Mounts: [{ Type: 'volume', Source: volumeName('i', 'v'), Target: '/data' }],
      },
      NetworkingConfig: { EndpointsConfig: { [networkName(owner)]: { Aliases: ['shop'] } } },
    });
  });

  it('leaves entrypoint and command to the image where none is asked', () => {
    const body = toContainerBody(workload(), 0, fullTraits);
    expect(body).not.toHaveProperty('Entrypoint');
    expect(body).not.toHaveProperty('Cmd');
    expect(toContainerBody(workload({ entrypoint: ['a'], arguments: ['b c'] }), 0, fullTraits)).toMatchObject({
      Entrypoint: ['a'],
      Cmd: ['b c'],
    });
  });

  it('has a program: an empty entrypoint without arguments is refused, an empty argument for the image is not', () => {
    expect(() => toContainerBody(workload({ entrypoint: [''], arguments: [] }), 0, fullTraits)).toThrow('no program to start');
    expect(toContainerBody(workload({ entrypoint: [''], arguments: ['/run'] }), 0, fullTraits).Cmd).toEqual(['/run']);
    expect(toContainerBody(workload({ entrypoint: [], arguments: [''] }), 0, fullTraits).Cmd).toEqual(['']);
  });

  it('never asks for more processors than there are, nor for less memory than engines take', () => {
    const { HostConfig } = toContainerBody(workload({ cpuMillicores: 64_000, memoryMiB: 1 }), 0, {
      ...fullTraits,
      cpuMillicores: 2000,
    });
    expect(HostConfig.NanoCpus).toBe(2_000_000_000);
    expect(HostConfig.Memory).toBe(6 * 1024 * 1024);
  });

  it('lets nothing be written outside of volumes where that is asked, and refuses files there', () => {
    const body = toContainerBody(workload({ readOnlyRootFilesystem: true }), 0, fullTraits);
    expect(body.HostConfig.ReadonlyRootfs).toBe(true);
    expect(toContainerBody(workload(), 0, fullTraits).HostConfig).not.toHaveProperty('ReadonlyRootfs');
    const files = [{ path: '/etc/key', content: new Sensitive('x') }];
    const make = (): unknown => toContainerBody(workload({ readOnlyRootFilesystem: true, files }), 0, fullTraits);
    expect(make).toThrow('/etc/key cannot be written');
  });

  it.each(['/data,source=other', '/data"', '/data:ro', '/data\n'])(
    'mounts nothing at %j, which engines read differently',
    (mountPath) => {
      const volumes = [{ id: 'v', mountPath, sizeGiB: 1 }];
      expect(() => toContainerBody(workload({ volumes }), 0, fullTraits)).toThrow('Nothing can be mounted at');
    },
  );

  it('refuses files that take the place of another part', () => {
    const volumes = [{ id: 'v', mountPath: '/srv/data', sizeGiB: 1 }];
    const make = (...paths: string[]) =>
      toContainerBody(workload({ volumes, files: paths.map((path) => ({ path, content: new Sensitive('x') })) }), 0, fullTraits);
    expect(() => make('/srv/data')).toThrow('is where a volume or folder is mounted');
    expect(() => make('/srv')).toThrow('is also a folder');
    expect(() => make('/etc/a', '/etc/a/b')).toThrow('is also a folder');
    expect(() => make('/srv/data/key', '/srv/datas', '/etc/a', '/etc/ab')).not.toThrow();
  });

  it('refuses what no process can receive, before an engine fails with "argument list too long"', () => {
    const named = (length: number) => [{ name: 'KEY', value: new Sensitive('x'.repeat(length)) }];
    const make = (changes: Partial<Workload>) => toContainerBody(workload(changes), 0, fullTraits);
    expect(() => make({ environment: named(131_067) })).not.toThrow();
    expect(() => make({ environment: named(131_068) })).toThrow('Variable KEY has 131072 bytes');
    expect(() => make({ arguments: Array.from({ length: 20 }, () => 'x'.repeat(100_000)) })).not.toThrow();
    expect(() => make({ arguments: Array.from({ length: 21 }, () => 'x'.repeat(100_000)) })).toThrow('bytes together');
  });

  it('is without what the host forbids', () => {
    const traits = { ...fullTraits, cpuLimit: false, memoryLimit: false, pidsLimit: false, sysctls: false };
    const { HostConfig } = toContainerBody(workload(), 0, traits);
    for (const name of ['NanoCpus', 'Memory', 'MemorySwap', 'PidsLimit', 'Sysctls', 'Ulimits'])
      expect(HostConfig).not.toHaveProperty(name);
  });

  it('publishes ports of the host from the first instance only, and every TCP port where instances are not reached directly', () => {
    const ports = [
      { id: 'a', internalPort: 80, protocol: 'HTTP' as const },
      { id: 'b', internalPort: 53, protocol: 'UDP' as const, hostPort: 5353 },
    ];
    const udp = { '53/udp': [{ HostIp: '127.0.0.1', HostPort: '5353' }] };
    expect(toContainerBody(workload({ ports }), 0, fullTraits).HostConfig.PortBindings).toEqual(udp);
    expect(toContainerBody(workload({ ports }), 1, fullTraits).HostConfig.PortBindings).toEqual({});
    const published = { ...fullTraits, publishOn: '127.0.0.1' };
    expect(toContainerBody(workload({ ports }), 0, published).HostConfig.PortBindings).toEqual({
      ...udp,
      '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }],
    });
  });

  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['0.0.0.0', '0.0.0.0'],
    ['::1', '::1'],
    ['::', ''],
  ])('publishes a UDP port of the host where the gateway listens: %s', (publicAddress, HostIp) => {
    const ports = [{ id: 'b', internalPort: 53, protocol: 'UDP' as const, hostPort: 5353 }];
    const { PortBindings } = toContainerBody(workload({ ports }), 0, { ...fullTraits, publicAddress }).HostConfig;
    expect(PortBindings).toEqual({ '53/udp': [{ HostIp, HostPort: '5353' }] });
  });

  it('has every variable as it is, and refuses NUL without showing the value', () => {
    const values = property(
      string({ unit: 'binary' }).filter((text) => !text.includes('\0')),
      (value) => {
        const environment = [{ name: 'A', value: new Sensitive(value) }];
        expect(toContainerBody(workload({ environment }), 0, fullTraits).Env).toEqual([`A=${value}`]);
      },
    );
    assert(values);
    const environment = [{ name: 'KEY', value: new Sensitive('hush\0') }];
    expect(() => toContainerBody(workload({ environment }), 0, fullTraits)).toThrow(/KEY(?!.*hush)/);
  });
});

describe('an archive of files', () => {
  it('holds them readable for all and writable for none, however long their paths', async () => {
    const path = `/${'deep/'.repeat(60)}file`;
    const archive = await toArchive(toArchiveEntries([{ path, content: new Sensitive('käse') }]));
    expect(archive.includes(path.slice(1))).toBe(true);
    expect(archive.includes('käse')).toBe(true);
    expect(archive.includes('000444')).toBe(true);
  });
});

describe('the frames of a stream', () => {
  const frame = (stream: number, payload: Uint8Array): Buffer => {
    const head = Buffer.alloc(8);
    head[0] = stream;
    head.writeUInt32BE(payload.length, 4);
    return Buffer.concat([head, payload]);
  };

  it('are found wherever chunks end', () => {
    const frames = array(record({ stream: constantFrom(1, 2), payload: uint8Array({ maxLength: 50 }) }), { maxLength: 8 });
    const found = property(frames, array(integer({ min: 1, max: 20 }), { minLength: 1 }), (sent, sizes) => {
      const bytes = Buffer.concat(sent.map(({ stream, payload }) => frame(stream, payload)));
      const reader = new FrameReader();
      const seen = [];
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        seen.push(...reader.push(bytes.subarray(at, at + size)));
        at += size;
      }
      const wanted = sent.map(({ stream, payload }) => [
        stream === 2 ? 'stderr' : 'stdout',
        Buffer.from(payload).toString('hex'),
      ]);
      expect(seen.map(({ stream, payload }) => [stream, payload.toString('hex')])).toEqual(wanted);
    });
    assert(found);
  });
});

describe('lines of a log', () => {
  const push = (assembler: LineAssembler, ...payloads: string[]): string[] =>
    payloads
      .flatMap((payload) => assembler.push({ stream: 'stdout', payload: Buffer.from(payload) }))
      .map(({ timestamp, text }) => `${timestamp}|${text}`);

  it('are joined from entries without a line break, with the time of the first', () => {
    const lines = push(
      new LineAssembler(),
      '2026-01-02T03:04:05.1Z ab',
      '2026-01-02T03:04:05.2Z cd\n',
      '2026-01-02T03:04:06.3Z\n',
    );
    expect(lines).toEqual(['2026-01-02T03:04:05.100000000Z|abcd', '2026-01-02T03:04:06.300000000Z|']);
  });

  it('have times in UTC whatever the zone of the engine', () => {
    expect(push(new LineAssembler(), '2026-01-02T01:04:05.123456789+02:00 x\n')).toEqual(['2026-01-01T23:04:05.123456789Z|x']);
  });

  it('are counted within a second where the engine tells whole seconds only', () => {
    const seconds = ['2026-01-02T03:04:05Z a\n', '2026-01-02T03:04:05Z b\n', '2026-01-02T03:04:06Z c\n'];
    const lines = ['2026-01-02T03:04:05.000000001Z|a', '2026-01-02T03:04:05.000000002Z|b', '2026-01-02T03:04:06.000000001Z|c'];
    expect(push(new LineAssembler(), ...seconds)).toEqual(lines);
    expect(toSince('2026-01-02T03:04:05.000000002Z')).toBe(String(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000));
  });

  it('are cut when they are too long, never within a character', () => {
    const [line = ''] = push(new LineAssembler(), `2026-01-02T03:04:05.1Z x${'é'.repeat(longestLine)}\n`);
    expect(line.endsWith(`é${cutMark}`)).toBe(true);
    expect(Buffer.byteLength(line.split('|')[1] ?? '')).toBeLessThanOrEqual(longestLine + Buffer.byteLength(cutMark));
  });

  it('keep the last one without a line break', () => {
    const assembler = new LineAssembler();
    expect(push(assembler, '2026-01-02T03:04:05.1Z end')).toEqual([]);
    expect(assembler.end().map(({ text }) => text)).toEqual(['end']);
  });
});

describe('listeners', () => {
  const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
  const line = (local: string, state = '0A'): string =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 1`;

  it('are read from the tables of the kernel, connections left out', () => {
    const text = [
      head,
      line('0100007F:1F90'),
      line('00000000:0050'),
      line('0200590A:0050', '01'),
      line('00000000000000000000000000000000:0BB8'),
      line('00000000000000000000000001000000:0BB9'),
      line('0000000000000000FFFF00000100007F:0BBA'),
      line('B80D0120000000000000000001000000:0BBB'),
    ].join('\n');
    expect(parseListeners(text).map(formatListener)).toEqual([
      '127.0.0.1:8080',
      '0.0.0.0:80',
      '[::]:3000',
      '[::1]:3001',
      '127.0.0.1:3002',
      '[2001:db8::1]:3003',
    ]);
    expect(parseListeners(text).map(isReachable)).toEqual([false, true, true, false, false, true]);
  });

  it('make a closed port explain itself', () => {
    const open = { address: '0.0.0.0', port: 8080 };
    expect(describeClosed([3000], [open], 30).message).toBe(
      'After 30 s nothing listens on port 3000, but the process listens on port 8080.',
    );
    expect(describeClosed([3000], [open], 30).hint).toContain('internal_port to 8080');
    expect(describeClosed([3000], [{ address: '127.0.0.1', port: 3000 }], 30).hint).toContain('0.0.0.0');
    expect(describeClosed([3000, 3001], null, 30)).toEqual({
      message: 'After 30 s nothing listens on ports 3000, 3001.',
      hint: null,
    });
  });
});

describe('words of the engine', () => {
  const refusal = (words: string, status = 500): EngineRefusal =>
    new EngineRefusal({ method: 'POST', path: '/x' }, status, words);

  it.each([
    ['no space left on device', 'DISK_FULL'],
    ['Bind for 0.0.0.0:53 failed: port is already allocated', 'PORT_TAKEN'],
    ['cannot listen on the UDP port: listen udp4 :53: bind: address already in use', 'PORT_TAKEN'],
    ['No such image: x:y', 'IMAGE_MISSING'],
    ['x:y: image not known', 'IMAGE_MISSING'],
    ['OCI runtime create failed: runc create failed: exec: "x": executable file not found in $PATH: unknown', 'START_FAILED'],
    ['crun: executable file `x` not found in $PATH: No such file or directory', 'START_FAILED'],
    ['Error processing tar file(exit status 1): open /bin/sh/x: not a directory', 'START_FAILED'],
    ['something else', 'ENGINE_FAILED'],
  ])('%s mean a cause', (words, cause) => {
    expect(translated(refusal(words), 'Doing')).toMatchObject({ code: cause, evidence: { original: words } });
  });

  it('lower what the host forbids, once each', () => {
    const rlimit = refusal('error setting rlimit type 7: operation not permitted');
    const first = lowered(rlimit, fullTraits, workload());
    expect(first?.traits.ulimits?.map(({ Name }) => Name)).toEqual(['nofile', 'nproc']);
    const second = lowered(rlimit, first?.traits ?? fullTraits, workload());
    expect(second?.traits.ulimits?.[0]).toEqual({ Name: 'nofile', Soft: 1024, Hard: 1024 });
    expect(lowered(rlimit, second?.traits ?? fullTraits, workload())).toBeNull();
    expect(lowered(refusal('failed to write "4096" to pids.max: no such file'), fullTraits, workload())?.traits.pidsLimit).toBe(
      false,
    );
    expect(lowered(refusal('open /sys/fs/cgroup/cpu.max: no such file'), fullTraits, workload())?.traits.cpuLimit).toBe(false);
    expect(lowered(refusal('memory.memsw.limit_in_bytes: permission denied'), fullTraits, workload())?.traits).toMatchObject({
      swapLimit: false,
      memoryLimit: true,
    });
    expect(lowered(refusal('executable file not found'), fullTraits, workload())).toBeNull();
    expect(lowered(new Error('error setting rlimit'), fullTraits, workload())).toBeNull();
  });

  it.each([
    'pids limit',
    'memory.max',
    '/sys/fs/cgroup/memory.max',
    'rlimit',
    '\u001bcgroup cpu',
    'a "pids.max" b',
    'a `pids.max` b',
  ])('lower nothing where the words are those of a service: %s', (text) => {
    const requested = workload({ entrypoint: [text], environment: [{ name: 'A', value: new Sensitive(text) }] });
    const escaped = JSON.stringify(text).replaceAll('\\u001b', '\\x1b');
    for (const words of [
      `OCI runtime create failed: runc create failed: exec: ${escaped}: executable file not found in $PATH: unknown`,
      `crun: executable file \`${text}\` not found in $PATH: No such file or directory`,
      `stat ${text}: no such file or directory`,
    ])
      expect(lowered(refusal(words), fullTraits, requested)).toBeNull();
  });

  it('lower what the host forbids also where a service has such words', () => {
    const requested = workload({ arguments: ['the', 'pids.max', 'of', 'crun'] });
    expect(lowered(refusal('open `/sys/fs/cgroup/cpu.max`: no such file'), fullTraits, requested)?.traits.cpuLimit).toBe(false);
  });

  it('name exit codes that people look up', () => {
    expect([describeExit(1), describeExit(127), describeExit(137)]).toEqual([
      'code 1',
      'code 127 (command not found)',
      'code 137 (SIGKILL)',
    ]);
  });
});

describe('the version of the API', () => {
  it('is the newest that both know', () => {
    expect(negotiate({ Version: '20.10', ApiVersion: '1.41', MinAPIVersion: '1.12' })).toBe('1.41');
    expect(negotiate({ Version: '40', ApiVersion: '1.99', MinAPIVersion: '1.44' })).toBe('1.47');
  });

  it('is refused where there is none, with what to update', () => {
    const refused = (apiVersion: string, minimum: string): unknown => {
      try {
        return negotiate({ Version: 'x', ApiVersion: apiVersion, MinAPIVersion: minimum });
      } catch (error) {
        return error instanceof DriverError ? error.hint : error;
      }
    };
    expect(refused('1.24', '1.12')).toContain('Update the engine');
    expect(refused('1.99', '1.60')).toBe('Update Davit.');
  });
});

describe('where the engine is', () => {
  it('is a path, or an address of a socket or a port', () => {
    expect(toAddress('/run/docker.sock')).toBe('unix:///run/docker.sock');
    expect(toAddress('build.example.org:2375')).toBe('tcp://build.example.org:2375');
    expect(toAddress('unix:///run/podman.sock')).toBe('unix:///run/podman.sock');
  });

  it.each(['ssh://admin:secret@build.example.org', 'npipe:////./pipe/docker_engine'])('is refused as %s', (named) => {
    const refused = (): unknown => toAddress(named);
    expect(refused).toThrow(expect.objectContaining({ hint: expect.stringContaining('ssh -L') }));
    // The address may contain a password.
    expect(refused).not.toThrow(/secret/);
  });
});

describe('events of the engine', () => {
  const event = (changes: Partial<EngineEvent>): EngineEvent => ({
    Type: 'container',
    Action: 'die',
    Actor: { ID: 'c', Attributes: { [label.installation]: 'i', [label.service]: 's' } },
    ...changes,
  });

  it('are those of our containers, by the names of both engines', () => {
    const died = { type: 'DIED', service: 's', instance: 'c' };
    expect(toEvent(event({}), 'i')).toEqual(died);
    expect(toEvent(event({ Action: undefined, status: 'died' }), 'i')).toEqual(died);
    expect(toEvent(event({ Action: 'remove' }), 'i')).toEqual({ ...died, type: 'REMOVED' });
    expect(toEvent(event({}), 'j')).toBeNull();
    expect(toEvent(event({ Action: 'exec_start' }), 'i')).toBeNull();
    expect(toEvent(event({ Type: 'network' }), 'i')).toBeNull();
    expect(toEvent({}, 'i')).toBeNull();
  });
});

describe('ends that the engine has made good by itself', () => {
  const second = 1_000_000_000;
  const died = (at: number, attributes: Record<string, string>): EngineEvent => ({
    Action: 'die',
    timeNano: at * second,
    Actor: { ID: 'c', Attributes: attributes },
  });
  const at = (seconds: number): InstanceEnd => ({ code: null, outOfMemory: false, at: new Date(seconds * 1000).toISOString() });

  it.each(['exitCode', 'containerExitCode'])('have the code of their event (%s)', (name) => {
    const ends = new Ends();
    ends.note(died(100, { [name]: '3' }));
    expect(ends.complete('c', at(100))).toMatchObject({ code: 3, outOfMemory: false });
  });

  it('are for memory where the engine told so before, and the process was killed', () => {
    const ends = new Ends();
    ends.note({ Action: 'oom', timeNano: 99 * second, Actor: { ID: 'c' } });
    ends.note(died(100, { exitCode: '137' }));
    expect(ends.complete('c', at(100))).toMatchObject({ code: 137, outOfMemory: true });
    ends.note(died(200, { exitCode: '137' }));
    expect(ends.complete('c', at(200))).toMatchObject({ code: 137, outOfMemory: false });
  });

  it('are not for memory where a former life of the instance was killed for it, however short ago', () => {
    const ends = new Ends();
    ends.note({ Action: 'oom', timeNano: 99 * second, Actor: { ID: 'c' } });
    ends.note(died(100, { exitCode: '137' }));
    ends.note({ Action: 'start', timeNano: 101 * second, Actor: { ID: 'c' } });
    ends.note(died(105, { exitCode: '143' }));
    expect(ends.complete('c', at(105))).toMatchObject({ code: 143, outOfMemory: false });
  });

  it('are left as they are where the event is not of that end, and where the engine knows better', () => {
    const ends = new Ends();
    ends.note(died(100, { exitCode: '3' }));
    expect(ends.complete('c', at(300))).toEqual(at(300));
    expect(ends.complete('d', at(100))).toEqual(at(100));
    expect(ends.complete('c', { ...at(100), code: 7 })).toMatchObject({ code: 7 });
  });
});

describe('an init process', () => {
  it('is asked for, but where the engine has none, or the program is one itself', () => {
    expect(toContainerBody(workload(), 0, fullTraits).HostConfig.Init).toBe(true);
    expect(toContainerBody(workload(), 0, fullTraits, { hasOwnInit: true }).HostConfig).not.toHaveProperty('Init');
    expect(toContainerBody(workload(), 0, { ...fullTraits, initProcess: false }).HostConfig).not.toHaveProperty('Init');
  });

  it.each(['/init', '/sbin/init', '/lib/systemd/systemd', '/usr/bin/tini', 'dumb-init'])('is %s', (program) => {
    expect(isInit(program)).toBe(true);
  });

  it.each(['/bin/sh', 'node', '/docker-entrypoint.sh', '/opt/initialize', ''])('is not %j', (program) => {
    expect(isInit(program)).toBe(false);
  });

  it.each([
    'container create: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory',
    'exec: "docker-init": executable file not found in $PATH',
  ])('is done without after %j', (words) => {
    const refusal = new EngineRefusal({ method: 'POST', path: '/x' }, 500, words);
    expect(lowered(refusal, fullTraits, workload())?.traits).toEqual({ ...fullTraits, initProcess: false });
    expect(lowered(refusal, { ...fullTraits, initProcess: false }, workload())).toBeNull();
  });
});

describe('an init process that cannot start its program', () => {
  it.each([
    '[FATAL tini (8)] exec /nope failed: No such file or directory',
    'ERROR (catatonit:6): failed to exec pid1: No such file or directory',
  ])('says so: %s', (line) => {
    expect(initRefusal([line])).toBe('no such file or directory');
    expect(initRefusal([line, line, line])).toBe('no such file or directory');
    expect(initRefusal(['hello', line])).toBeNull();
    expect(initRefusal([])).toBeNull();
  });

  it.each([
    [['', 'ERROR (catatonit:6): failed to exec pid1: No such file or directory']],
    [['failed to exec pid1: No such file or directoryERROR (catatonit:7): ', 'failed to exec pid1: No such file or directory']],
    [['failed to exec pid1: No such file or directory', 'ERROR (catatonit:6): ']],
  ])('says so in the parts that a busy Podman makes of its lines: %j', (lines) => {
    expect(initRefusal(lines)).toBe('no such file or directory');
    expect(initRefusal([...lines, 'hello'])).toBeNull();
  });
});

describe('what listens', () => {
  const own = { address: '127.0.0.1', port: 3000 };
  const open = { address: '0.0.0.0', port: 3000 };
  const other = { address: '0.0.0.0', port: 8080 };

  it('is worth a word where a process listens for itself only, and after a while where it listens on another port', () => {
    expect(isConclusive([own], [3000], 0)).toBe(true);
    expect(isConclusive([own, open], [3000], 60)).toBe(false);
    expect(isConclusive([other], [3000], 0)).toBe(false);
    expect(isConclusive([other], [3000], 10)).toBe(true);
    expect(isConclusive([own, other], [3000], 0)).toBe(true);
    expect(isConclusive([], [3000], 60)).toBe(false);
    expect(isConclusive([own], [], 60)).toBe(false);
  });
});

describe('control groups', () => {
  it.each([
    ['12:pids:/docker/1\n4:memory:/docker/1\n0::/docker/1', '/sys/fs/cgroup/pids/docker/1'],
    ['12:cpu,pids:/docker/1\n0::/docker/1', '/sys/fs/cgroup/pids/docker/1'],
    ['0::/machine.slice/libpod-1.scope/container', '/sys/fs/cgroup/machine.slice/libpod-1.scope/container'],
    ['4:memory:/docker/1', null],
  ])('are found in %j', (text, folder) => {
    expect(groupOf(text, 'pids')).toBe(folder);
  });

  it('count by names', () => {
    expect(countIn('low 0\noom 2\noom_kill 3', 'oom_kill')).toBe(3);
    expect(countIn('max 7', 'max')).toBe(7);
    expect(countIn('max 7', 'oom_kill')).toBeNull();
    expect(countIn(null, 'max')).toBeNull();
  });

  it('name the programs with most processes and threads', () => {
    const stat = (name: string, threads: number): string =>
      `7 (${name}) S 1 7 7 0 -1 4194560 102 0 0 0 0 0 0 0 20 0 ${threads} 0 433 2396160 178 18446744073709551615`;
    expect(mostPrograms([stat('sh', 1), stat('node', 11), stat('node', 12), stat('a) R 1 (b\u0007', 2)], 1)).toEqual([
      '23 × node',
      '2 × a) R 1 (b?',
      '1 × sh',
    ]);
    expect(mostPrograms([stat('sleep', 1), stat('sleep', 1)], 8)).toEqual(['about 16 × sleep']);
    expect(mostPrograms([], 1)).toEqual([]);
  });
});

describe('the log of the kernel', () => {
  const kill =
    '4,2210,4061087679,-;oom-kill:constraint=CONSTRAINT_MEMCG,cpuset=x,oom_memcg=/libpod_parent/libpod-5262,task_memcg=/y,task=tail';

  it('tells of a kill for the memory of that container, since that time', () => {
    expect(isKillOf(kill, '5262', 4_061_000)).toBe(true);
    expect(isKillOf(kill, '5262', 4_062_000)).toBe(false);
    expect(isKillOf(kill, '9999', 0)).toBe(false);
    expect(isKillOf('4,2210,4061087679,-;eth0 5262 up', '5262', 0)).toBe(false);
    expect(isKillOf('', '5262', 0)).toBe(false);
  });
});

describe('the configuration of an own Podman service', () => {
  const host = { hasSystemd: true, isCgroup2: true, hasRunc: true, hasNetavark: true, openFiles: 2_000_000, processes: 99_999 };

  it('leaves to Podman what works by itself', () => {
    const text = podmanConfiguration(host);
    expect(text).not.toMatch(/cgroup_manager|runtime/);
    expect(text).toContain('events_logger = "file"');
    expect(text).toContain('"nofile=1048576:1048576", "nproc=32768:32768"');
  });

  it('sets what does not: no systemd, cgroups version 1 beside 2, low limits', () => {
    const text = podmanConfiguration(
      { ...host, hasSystemd: false, isCgroup2: false, openFiles: 20_000 },
      { subnets: '10.9.0.0/16' },
    );
    expect(text).toContain('cgroup_manager = "cgroupfs"');
    expect(text).toContain('runtime = "runc"');
    expect(text).toContain('nofile=20000:20000');
    expect(text).toContain('"base" = "10.9.0.0/16"');
  });
});

describe('messages of the gRPC health protocol', () => {
  it('are framed, with the name of the service', () => {
    expect(encodeHealthRequest('').toString('hex')).toBe('0000000000');
    expect(encodeHealthRequest('ab').toString('hex')).toBe('00000000040a026162');
    expect(encodeHealthRequest('x'.repeat(200)).subarray(0, 8).toString('hex')).toBe('00000000cb0ac801');
  });

  it('are read', () => {
    const status = (...bytes: number[]): string => decodeHealthStatus(Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]));
    expect([status(8, 1), status(8, 2), status(), status(1)]).toEqual(['SERVING', 'NOT_SERVING', 'UNKNOWN', 'unreadable']);
    expect(decodeHealthStatus(Buffer.alloc(0))).toBe('missing in the answer');
  });
});
