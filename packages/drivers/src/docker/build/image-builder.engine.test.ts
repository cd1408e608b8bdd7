import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { startTestEngine, stopTestEngines, testEngineKinds, type EngineKind } from '@davit/testkit/engines';
import { EngineClient } from '@davit/testkit/engine-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ImageBuilder } from '../../image-builder.ts';
import { call } from '../engine-api.ts';
import { createImageBuilder } from './image-builder.ts';
import {
  buildRequest,
  failureOf,
  processesWith,
  recordedCall,
  TestCheckout,
  testOwner,
  type RecordedCall,
} from '../../shared/build/testing.ts';

const kinds = testEngineKinds();
const builderOf = (docker: EngineClient): ImageBuilder => createImageBuilder({ docker, installation: testOwner.installation });
const silent = new AbortController().signal;

test('there is an engine to build on', () => {
  expect(kinds.length).toBeGreaterThan(0);
});

let checkout: TestCheckout;
beforeEach(() => {
  checkout = new TestCheckout();
});
afterEach(() => checkout.remove());

describe.each(kinds)('building on %s', (kind) => {
  let docker: EngineClient;
  let builder: ImageBuilder;
  let context: RecordedCall;
  /** Containers that existed before, because tests share their engine. */
  let others: readonly string[];

  beforeAll(async () => {
    docker = new EngineClient((await startTestEngine(kind)).socketPath);
    builder = builderOf(docker);
    others = await containersOf(docker, kind);
  });
  beforeEach(() => {
    context = recordedCall();
  });
  afterAll(async () => {
    const images = await docker.listImages({ filters: { label: [`davit.installation=${testOwner.installation}`] } });
    await builder.removeImages(
      images.map(({ Id }) => Id),
      recordedCall(),
    );
  });

  const build = (change: Parameters<typeof buildRequest>[1] = {}): ReturnType<ImageBuilder['build']> =>
    builder.build(buildRequest(checkout.folder, change), context);
  const buildFails = (change: Parameters<typeof buildRequest>[1] = {}): ReturnType<typeof failureOf> => failureOf(build(change));

  test('an image is built, labelled, named and found again', async () => {
    checkout.dockerfile('COPY note /note', 'CMD ["cat", "/note"]');
    checkout.write({ note: 'hello' });
    const built = await build();
    expect(built.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(built.sizeBytes).toBeGreaterThan(1_000_000);
    expect(await builder.find('davit-build-test/app:1', silent)).toEqual(built);
    expect(await builder.find('davit-build-test/app:other', silent)).toBeNull();
    const { Config } = await docker.getImage(built.id).inspect();
    expect(Config.Labels).toMatchObject({
      'davit.installation': 'build-test',
      'davit.service': 's',
      'davit.environment': 'e',
      'davit.object': 'image',
    });
    expect(Config.Cmd).toEqual(['cat', '/note']);
    // The labels are an instruction of Davit's own on Podman, which the log does not show.
    expect(context.lines.join('\n')).not.toContain('davit.installation');
  });

  test('lines reach the log while the build goes on', async () => {
    checkout.dockerfile('RUN echo early-line; sleep 2; echo late-line');
    const building = build();
    await vi.waitFor(() => expect(context.lines.join('\n')).toMatch(/^(#\d+ )?early-line$/m), { timeout: 20_000, interval: 20 });
    const isLate = (): boolean => context.lines.some((each) => /^(#\d+ )?late-line$/.test(each));
    expect(isLate()).toBe(false);
    await building;
    expect(isLate()).toBe(true);
  });

  test('another checkout of the same content is the same image', async () => {
    checkout.dockerfile('COPY . /app', 'RUN echo done >/done');
    const first = await build();
    const again = new TestCheckout();
    try {
      again.dockerfile('COPY . /app', 'RUN echo done >/done');
      expect((await builder.build(buildRequest(again.folder), recordedCall())).id).toBe(first.id);
    } finally {
      again.remove();
    }
  });

  test('files have the time of their commit, and the cache is used across commits', async () => {
    checkout.dockerfile('COPY page.html /page.html', 'RUN stat -c time-%Y /page.html && date +%s%N >/ran');
    checkout.write({ 'page.html': 'first' });
    const first = await build({ committedAt: '2026-01-02T03:04:05Z' });
    expect(context.lines).toContainEqual(expect.stringContaining(`time-${Date.UTC(2026, 0, 2, 3, 4, 5) / 1000}`));
    const unchanged = await build({ committedAt: '2026-02-03T04:05:06Z' });
    expect(unchanged.id).toBe(first.id);
    checkout.write({ 'page.html': 'other' });
    await build({ committedAt: '2026-03-04T05:06:07Z' });
    expect(context.lines).toContainEqual(expect.stringContaining(`time-${Date.UTC(2026, 2, 4, 5, 6, 7) / 1000}`));
  });

  test('what only newer builders know works: modes of copies, cache mounts, bind mounts, absent optional secrets', async () => {
    checkout.write({
      note: 'hello',
      Dockerfile: [
        'FROM scratch AS base',
        'COPY busybox /bin/busybox',
        'RUN ["/bin/busybox", "--install", "-s", "/bin"]',
        'ENV PATH=/bin',
        'COPY --chmod=0640 note /note',
        'RUN --mount=type=bind,source=note,target=/bound echo bound-$(cat /bound)',
        'RUN --mount=type=secret,id=absent test ! -e /run/secrets/absent',
        'RUN --mount=type=cache,target=/cache echo cached-$(stat -c %a /note) >/cache/a && cat /cache/a',
        '',
      ].join('\n'),
    });
    await build();
    expect(context.lines).toContainEqual(expect.stringContaining('cached-640'));
    expect(context.lines).toContainEqual(expect.stringContaining('bound-hello'));
  });

  test("without Docker's syntax image, the engine reads the Dockerfile itself, also what is newer than the engine", async () => {
    const script = ['RUN --mount=type=cache,target=/kept <<EOF', 'set -e', 'date > /kept/time', 'echo "$PATH" > /path', 'EOF'];
    const later = ['FROM base AS later', 'COPY <<EOF /file', 'text', 'EOF', 'RUN exit 1'];
    checkout.dockerfile('FROM base AS main', 'COPY --link . /all/', ...script, 'CMD ["cat", "/all/note", "/path"]', ...later);
    const content = readFileSync(join(checkout.folder, 'Dockerfile'), 'utf8');
    // No registry is reachable here, so that a tag that is nowhere is as good as any.
    checkout.write({ note: 'hello', Dockerfile: `# syntax = docker/dockerfile:1.4.davit\n${content}` });
    const built = await build({ targetStage: 'main' });
    expect((await docker.getImage(built.id).inspect()).Config.Cmd).toEqual(['cat', '/all/note', '/path']);
    if (kind !== 'docker') return; // Podman does not use the line.
    expect(context.lines.join('\n')).toMatch(/docker\/dockerfile:1\.4\.davit could not be pulled: .* built into the engine/);
    // Somebody else's syntax is not replaced, and the advice names the line.
    checkout.write({ Dockerfile: `# syntax=davit.invalid/own:1\n${content}` });
    const failure = await buildFails();
    expect(failure.code).toBe('BASE_IMAGE_UNAVAILABLE');
    expect(failure.hint).toContain('# syntax=');
    expect(failure.message).toContain('davit.invalid/own:1');
  });

  test('a target stage ends the build there, and the image carries its labels', async () => {
    checkout.dockerfile('FROM base AS Final', 'RUN exit 1');
    const built = await build({ targetStage: 'base' });
    const { Config } = await docker.getImage(built.id).inspect();
    expect(Config.Labels).toMatchObject({ 'davit.installation': 'build-test', 'davit.service': 's' });
    expect(Config.Env).toContain('PATH=/bin');
  });

  test('declared arguments arrive, others and secrets do not, and no secret is in the image', async () => {
    checkout.dockerfile('ARG GREETING', 'ARG TOKEN=none', 'RUN echo "[$GREETING] [$TOKEN] [$OTHER]"');
    const built = await build({
      arguments: { GREETING: 'it\'s "a" $x', TOKEN: 'canary-token', OTHER: 'canary-other' },
      secretNames: ['TOKEN', 'UNUSED'],
    });
    expect(context.lines.join('\n')).toContain('[it\'s "a" $x] [none] []');
    expect(context.lines.filter((line) => line.includes('TOKEN gets no value'))).toHaveLength(1);
    const image = docker.getImage(built.id);
    const shown = JSON.stringify([await image.inspect(), await image.history(), context.lines]);
    expect(shown).toContain('GREETING');
    expect(shown).not.toContain('canary');
  });

  test('commands are limited to a number of processes', async () => {
    // The shell prints the text without forking, because no process can be forked.
    const loop = 'i=0; while [ $i -lt 6000 ]; do sleep 60 & i=$((i+1)); echo $i >/n; done';
    checkout.dockerfile(`RUN (${loop}) 2>/dev/null; read n </n; echo started $n`);
    await build({ memoryMiB: 1024 });
    const started = Number(/started (\d+)$/m.exec(context.lines.join('\n'))?.[1]);
    expect(started).toBeGreaterThan(3000);
    expect(started).toBeLessThan(4097);
  });

  test.runIf(kind === 'podman')('commands get no capabilities that builds do not need', async () => {
    checkout.dockerfile(`RUN grep CapBnd /proc/self/status; mknod /dev/x c 1 3 || echo no devices`);
    await build();
    expect(context.lines).toContain('no devices');
    const capabilities = BigInt(`0x${/CapBnd:\s*([0-9a-f]+)/.exec(context.lines.join('\n'))?.[1]}`);
    // Bit numbers of capabilities(7): NET_RAW, MKNOD, AUDIT_WRITE, SETPCAP; and SETFCAP, which the installation of
    // packages needs.
    expect([13n, 27n, 29n, 8n, 31n].map((bit) => (capabilities >> bit) & 1n)).toEqual([0n, 0n, 0n, 0n, 1n]);
  });

  const readLimits =
    'cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max; cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max; true';

  test.each([
    ['commands are limited to memory and CPU', ''],
    ['so are those of a Dockerfile that has the variable by which they are found', 'ARG NO_PROXY'],
    ['so are those that override it', 'ENV no_proxy=example.org'],
  ])('%s', async (_name, line) => {
    checkout.dockerfile(line, `RUN ${readLimits}`);
    await build({ memoryMiB: 64, cpuMillicores: 1500, withoutCache: true });
    const words = context.lines.map((each) => each.replace(/^#\d+ /, ''));
    expect(words).toContain(String(64 * 1024 * 1024));
    expect(words.some((each) => /^150000( 100000)?$/.test(each))).toBe(true);
  });

  test('commands of two builds at a time have the limits of their own build', async () => {
    const other = new TestCheckout();
    const small = recordedCall();
    try {
      checkout.dockerfile(`RUN echo large >/x; ${readLimits}`);
      other.dockerfile(`RUN echo small >/x; ${readLimits}`);
      const request = buildRequest(other.folder, { memoryMiB: 64, image: 'davit-build-test/small:1', withoutCache: true });
      await Promise.all([build({ memoryMiB: 96, withoutCache: true }), builder.build(request, small)]);
      expect(context.lines.join('\n')).toContain(String(96 * 1024 * 1024));
      expect(small.lines.join('\n')).toContain(String(64 * 1024 * 1024));
    } finally {
      other.remove();
    }
  });

  test('a stage that the image does not need is not built', async () => {
    checkout.dockerfile('FROM base AS test', 'RUN exit 3', 'FROM davit-no-such-image:1 AS elsewhere', 'FROM base', 'RUN true');
    expect((await build()).id).toMatch(/^sha256:/);
  });

  // BuildKit reads the Dockerfile from the context that it gets.
  test.runIf(kind === 'podman')('a Dockerfile that .dockerignore names is not copied', async () => {
    checkout.write({ '.dockerignore': 'Dockerfile\n.dockerignore\nnotes\n', notes: 'x', kept: 'y' });
    checkout.dockerfile('COPY . /app', 'RUN ls -A /app | tr "\\n" " "; echo');
    await build();
    const listed = context.lines.map((each) => each.replace(/^#\d+ /, '')).filter((each) => / kept( |$)/.test(each));
    expect(listed).toEqual(['busybox kept']);
  });

  test('commands do not reach what listens on the loopback of this machine', async () => {
    const requested: string[] = [];
    const server = createServer((request, response) => {
      requested.push(request.url ?? '');
      response.end('reached');
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const address = server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    try {
      checkout.dockerfile(`RUN wget -q -T 2 -O - http://127.0.0.1:${port}/ || echo not-reached`);
      await build();
      expect(context.lines.join('\n')).toMatch(/^(#\d+ )?not-reached$/m);
      expect(requested).toEqual([]);
    } finally {
      server.close();
    }
  });

  test('a command that fails is named with its exit code and the last lines', async () => {
    checkout.dockerfile('RUN for i in $(seq 80); do echo "line-$i"; done; exit 7');
    const error = await buildFails();
    expect(error.code).toBe('BUILD_COMMAND_FAILED');
    expect(error.message).toMatch(/^RUN for i in .* exited with code 7\.$/);
    expect(error.evidence.exit).toEqual({ code: 7, outOfMemory: false });
    expect(error.evidence.lines).toHaveLength(50);
    expect(error.evidence.lines?.at(-1)).toMatch(/^(#\d+ )?line-80$/);
    expect(error.retryable).toBe(false);
  });

  test('so is one that needs a newer builder', async () => {
    checkout.dockerfile('RUN --mount=type=cache,target=/c echo some-output; exit 8');
    const error = await buildFails();
    expect(error.code).toBe('BUILD_COMMAND_FAILED');
    expect(error.message).toMatch(/RUN --mount=.* exited with code 8\.$/);
    expect(error.evidence.lines?.join('\n')).toContain('some-output');
  });

  test('a file to copy that is not there is the COPY’s failure', async () => {
    checkout.dockerfile('COPY nowhere /x');
    const error = await buildFails();
    expect(error.code).toBe('BUILD_COMMAND_FAILED');
    expect(error.message).toMatch(/^COPY nowhere \/x failed: .*nowhere/);
  });

  test.each([
    ['the command itself', 'RUN tail /dev/zero'],
    ['a child of it, whatever code that gives', 'RUN sh -c "tail /dev/zero; exit 5" || { echo giving up; exit 9; }'],
    ['an exec form', 'RUN ["tail", "/dev/zero"]'],
  ])('out of memory is told when the kernel killed %s', async (_name, line) => {
    checkout.dockerfile(line);
    const error = await buildFails({ memoryMiB: 48 });
    expect(error.code).toBe('BUILD_OUT_OF_MEMORY');
    expect(error.message).toContain('48 MiB');
    expect(error.evidence.exit?.outOfMemory).toBe(true);
  });

  test('an exit code of 137 that a command chooses is no lack of memory', async () => {
    checkout.dockerfile('RUN echo fine; exit 137');
    const error = await buildFails({ memoryMiB: 48 });
    expect(error.code).toBe('BUILD_COMMAND_FAILED');
    expect(error.evidence.exit).toEqual({ code: 137, outOfMemory: false });
  });

  test.each([
    ['a host that does not exist', 'FROM does-not-exist.invalid/a/b:1', 'does-not-exist.invalid/a/b:1'],
    ['a name without a host', 'FROM davit-no-such-image:1', 'davit-no-such-image:1'],
    ['COPY --from', 'COPY --from=does-not-exist.invalid/c:2 /a /b', 'does-not-exist.invalid/c:2'],
  ])('an image that cannot be had is named: %s', async (_name, line, image) => {
    checkout.dockerfile(line);
    const error = await buildFails();
    expect(error.code).toBe('BASE_IMAGE_UNAVAILABLE');
    expect(error.message).toContain(`The image ${image} could not be pulled`);
  });

  test('the same where BuildKit looks for it', async () => {
    checkout.dockerfile('FROM does-not-exist.invalid/a/b:1', 'RUN --mount=type=cache,target=/c true');
    const error = await buildFails();
    expect(error.code).toBe('BASE_IMAGE_UNAVAILABLE');
    expect(error.message).toContain('does-not-exist.invalid/a/b:1');
  });

  test.each([
    ['FROB x', 'unknown instruction FROB'],
    ['HEALTHCHECK --interval=soon CMD true', 'invalid duration'],
    ['ENV A', ''],
  ])('a fault in the Dockerfile is told with its line: %s', async (line, words) => {
    const number = checkout.dockerfile(line);
    const error = await buildFails();
    expect(error.code).toBe('DOCKERFILE_INVALID');
    expect(error.message).toContain(`Dockerfile, line ${number}: `);
    expect(error.message).toContain(words);
  });

  test('a stage, a Dockerfile and a folder that are not there are told with what is there', async () => {
    checkout.dockerfile('FROM base AS Final');
    checkout.write({ 'api/Dockerfile.prod': '' });
    expect(await buildFails({ targetStage: 'nope' })).toMatchObject({
      code: 'BUILD_TARGET_MISSING',
      message: expect.stringContaining('base, Final'),
    });
    expect(await buildFails({ dockerfilePath: 'x/Dockerfile' })).toMatchObject({
      code: 'DOCKERFILE_MISSING',
      message: expect.stringContaining('Dockerfile, api/Dockerfile.prod'),
    });
    expect(await buildFails({ rootPath: '/web' })).toMatchObject({
      code: 'BUILD_ROOT_MISSING',
      message: expect.stringContaining('api'),
    });
  });

  // Tests of both engines run at once on one machine, so each looks for a command of its own.
  const forever = kind === 'docker' ? 'sleep 4321' : 'sleep 4322';
  test.each([
    ['a plain command', `RUN exec ${forever}`],
    ['a child of a shell', `RUN sh -c "${forever}; true"; true`],
    ['a command that ignores SIGTERM', `RUN trap "" TERM INT HUP; ${forever}; ${forever}`],
    ['a command of a newer builder', `RUN --mount=type=cache,target=/c ${forever}; true`],
  ])('an abort ends %s, and leaves no process and no container', async (_name, line) => {
    const before = await containersOf(docker, kind);
    checkout.dockerfile(`${line} # ${Math.random()}`);
    const aborter = new AbortController();
    context = recordedCall(aborter.signal);
    const building = build();
    building.catch(() => undefined);
    await vi.waitFor(() => expect(processesWith(forever.replace(' ', '\0'))).not.toEqual([]), { timeout: 30_000 });
    const reason = new Error('cancelled');
    const started = Date.now();
    aborter.abort(reason);
    await expect(building).rejects.toBe(reason);
    expect(Date.now() - started).toBeLessThan(5000);
    await vi.waitFor(() => expect(processesWith(forever.replace(' ', '\0'))).toEqual([]), { timeout: 10_000 });
    await vi.waitFor(async () => expect(await containersOf(docker, kind)).toEqual(before), { timeout: 10_000 });
  });

  test('an abort before the build begins asks nothing of the engine', async () => {
    checkout.dockerfile('RUN true');
    const reason = new Error('cancelled');
    context = recordedCall(AbortSignal.abort(reason));
    await expect(build()).rejects.toBe(reason);
    expect(context.lines).toEqual([]);
  });

  test('after all these builds no container is left', async () => {
    // Podman removes a working container after it has responded.
    const ownContainers = async (): Promise<string[]> => (await containersOf(docker, kind)).filter((id) => !others.includes(id));
    await expect.poll(ownContainers).toEqual([]);
  });

  test('an image goes with all its names; one that is in use, of others, or gone is no failure', async () => {
    checkout.dockerfile('RUN echo to-be-removed >/x');
    const built = await build({ image: 'davit-build-test/removed:1' });
    await docker.getImage(built.id).tag({ repo: 'davit-build-test/removed', tag: '2' });
    checkout.dockerfile('RUN echo in-use >/x', 'CMD ["true"]');
    const used = await build({ image: 'davit-build-test/used:1' });
    const container = await docker.createContainer({ Image: used.id });
    const foreign = await builder.build(
      buildRequest(checkout.folder, { owner: { ...testOwner, installation: 'another' }, image: 'davit-build-test/foreign:1' }),
      recordedCall(),
    );
    try {
      await builder.removeImages([built.id, used.id, foreign.id, `sha256:${'0'.repeat(64)}`], context);
      expect(await builder.find(built.id, silent)).toBeNull();
      expect(await builder.find('davit-build-test/removed:2', silent)).toBeNull();
      expect(await builder.find(used.id, silent)).not.toBeNull();
      expect(await builder.find('davit-build-test/foreign:1', silent)).toEqual(foreign);
    } finally {
      await container.remove({ force: true });
      await createImageBuilder({ docker, installation: 'another' }).removeImages([foreign.id], recordedCall());
    }
  });
});

describe('an engine that is not there', () => {
  test('is unreachable, and may be there later', async () => {
    checkout.dockerfile('RUN true');
    const builder = builderOf(new EngineClient('/nonexistent/engine.sock'));
    const error = await failureOf(builder.build(buildRequest(checkout.folder), recordedCall()));
    expect([error.code, error.retryable]).toEqual(['ENGINE_UNREACHABLE', true]);
  });
});

// These tests use separate engines: one loses its disk, the other its process.
describe.each(kinds)('%s in trouble', (kind) => {
  const folder = `/tmp/davit-build-trouble-${process.pid}-${kind}`;
  let isMounted = false;

  beforeEach(() => {
    vi.stubEnv('DAVIT_TEST_ENGINES_FOLDER', `${folder}/engines`);
    mkdirSync(folder, { recursive: true });
  });
  afterEach(async () => {
    await stopTestEngines();
    if (isMounted) execFileSync('umount', ['--lazy', folder]);
    isMounted = false;
    rmSync(folder, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });

  test.each([
    ['a command', 'RUN dd if=/dev/zero of=/fill bs=1M count=200'],
    ['a copy', 'COPY large /large'],
  ])('a full disk of the engine is told, when %s fills it', async (_name, line) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'davit-test', folder]);
    isMounted = true;
    const docker = new EngineClient((await startTestEngine(kind)).socketPath);
    checkout.write({ large: 'x'.repeat(100 * 1024 * 1024) });
    checkout.dockerfile(line);
    const error = await failureOf(builderOf(docker).build(buildRequest(checkout.folder), recordedCall()));
    expect(error.code).toBe('DISK_FULL');
  });

  test('an engine that goes away during a build is unreachable, and the command ends', async () => {
    const forever = kind === 'docker' ? 'sleep 5432' : 'sleep 5433';
    const engine = await startTestEngine(kind);
    const docker = new EngineClient(engine.socketPath);
    checkout.dockerfile(`RUN ${forever}`);
    const building = builderOf(docker).build(buildRequest(checkout.folder), recordedCall());
    building.catch(() => undefined);
    await vi.waitFor(() => expect(processesWith(forever.replace(' ', '\0'))).not.toEqual([]), { timeout: 30_000 });
    await engine.stop();
    const error = await failureOf(building);
    expect([error.code, error.retryable]).toEqual(['ENGINE_UNREACHABLE', true]);
    await vi.waitFor(() => expect(processesWith(forever.replace(' ', '\0'))).toEqual([]), { timeout: 10_000 });
  });
});

/** Returns all containers, including those of Podman's builds. */
async function containersOf(docker: EngineClient, kind: EngineKind): Promise<string[]> {
  if (kind === 'docker') return (await docker.listContainers({ all: true })).map(({ Id }) => Id);
  const query = { all: 'true', external: 'true' };
  const { body } = await call<readonly { readonly Id: string }[]>(docker, {
    method: 'GET',
    path: '/v4.0.0/libpod/containers/json',
    query,
    signal: silent,
  });
  return body.map(({ Id }) => Id);
}
