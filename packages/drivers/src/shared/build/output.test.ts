import { describe, expect, test } from 'vitest';
import { buildFailure, type FailedBuild } from './build-failure.ts';
import { parseDockerfile } from './dockerfile.ts';
import { BuildOutput, type BuildOutcome } from './output.ts';
import { decodeTrace } from './trace.ts';

// Recorded from Docker Engine 20.10.24 and Podman 4.3.1, unless said otherwise.
const podmanFailed = [
  '{"stream":"STEP 5/5: RUN printf \\"a\\\\nb\\"; exit 4\\n"}',
  '{"stream":"a\\nb"}',
  String.raw`{"errorDetail":{"message":"building at STEP \"RUN printf \"a\\nb\"; exit 4\": while running runtime: exit status 4\n"},"error":"x"}`,
];
const podmanKilled = [
  '{"stream":"STEP 6/6: RUN tail /dev/zero\\n"}',
  '{"stream":"start"}',
  '{"stream":"container exited on killed\\n"}',
  '{"errorDetail":{"message":"building at STEP \\"RUN tail /dev/zero\\": while running runtime: exit status 1\\n"},"error":"x"}',
];
const started =
  'CrMBCkdzaGEyNTY6NjBjZGI4MzllNGQyYzU1OTY0MzNlZGY2MTFjZjQ0N2ExYzViNzg0YmI4NGY4NTBjNjQ0YjM1YjVhOWM4ZDQ1YRJHc2hhMjU2OjBhYmU0MTYyMjQ1OTA2OTg0ZDc4YjU1YmM0ODdjZjJjNTk3NzIwM2I3NzVmZTdkODM1MzBiNWY3YzMyNWE4YTkaH1sxLzNdIENPUFkgYnVzeWJveCAvYmluL2J1c3lib3gKxgEKR3NoYTI1NjoxOThhZWU1ZDgxNjZkMTVlNWYxNWFlMzRhYTRlY2JhNDhiNWIzNzY0MTY4ZDhmZDAxZWI0Mzk3ZWQ2MjFkOWFmEkdzaGEyNTY6NjBjZGI4MzllNGQyYzU1OTY0MzNlZGY2MTFjZjQ0N2ExYzViNzg0YmI4NGY4NTBjNjQ0YjM1YjVhOWM4ZDQ1YRoyWzIvM10gUlVOIFsiL2Jpbi9idXN5Ym94IiwiLS1pbnN0YWxsIiwiLXMiLCIvYmluIl0KswEKR3NoYTI1Njo1MmFhNTUwZmQyMTIyZTA4YTE4MDRiNjVlMWRhNTE2Y2Q1OGViYThkODNlYzYyOWY3MGU3NDUxODMxNGU4MjYwEkdzaGEyNTY6MTk4YWVlNWQ4MTY2ZDE1ZTVmMTVhZTM0YWE0ZWNiYTQ4YjViMzc2NDE2OGQ4ZmQwMWViNDM5N2VkNjIxZDlhZhofWzMvM10gUlVOIHByaW50ZiAiYVxuYiI7IGV4aXQgNA==';
const running =
  'Cs8BCkdzaGEyNTY6NjBjZGI4MzllNGQyYzU1OTY0MzNlZGY2MTFjZjQ0N2ExYzViNzg0YmI4NGY4NTBjNjQ0YjM1YjVhOWM4ZDQ1YRJHc2hhMjU2OjBhYmU0MTYyMjQ1OTA2OTg0ZDc4YjU1YmM0ODdjZjJjNTk3NzIwM2I3NzVmZTdkODM1MzBiNWY3YzMyNWE4YTkaH1sxLzNdIENPUFkgYnVzeWJveCAvYmluL2J1c3lib3ggASoLCMe/hNgGEMHXi24yCwjHv4TYBhDB14tuCuIBCkdzaGEyNTY6MTk4YWVlNWQ4MTY2ZDE1ZTVmMTVhZTM0YWE0ZWNiYTQ4YjViMzc2NDE2OGQ4ZmQwMWViNDM5N2VkNjIxZDlhZhJHc2hhMjU2OjYwY2RiODM5ZTRkMmM1NTk2NDMzZWRmNjExY2Y0NDdhMWM1Yjc4NGJiODRmODUwYzY0NGIzNWI1YTljOGQ0NWEaMlsyLzNdIFJVTiBbIi9iaW4vYnVzeWJveCIsIi0taW5zdGFsbCIsIi1zIiwiL2JpbiJdIAEqCwjHv4TYBhDB14tuMgsIx7+E2AYQ/LuNbgrAAQpHc2hhMjU2OjUyYWE1NTBmZDIxMjJlMDhhMTgwNGI2NWUxZGE1MTZjZDU4ZWJhOGQ4M2VjNjI5ZjcwZTc0NTE4MzE0ZTgyNjASR3NoYTI1NjoxOThhZWU1ZDgxNjZkMTVlNWYxNWFlMzRhYTRlY2JhNDhiNWIzNzY0MTY4ZDhmZDAxZWI0Mzk3ZWQ2MjFkOWFmGh9bMy8zXSBSVU4gcHJpbnRmICJhXG5iIjsgZXhpdCA0KgsIx7+E2AYQsMqRbg==';
const wrote =
  'Gl4KR3NoYTI1Njo1MmFhNTUwZmQyMTIyZTA4YTE4MDRiNjVlMWRhNTE2Y2Q1OGViYThkODNlYzYyOWY3MGU3NDUxODMxNGU4MjYwEgwIx7+E2AYQlbnbpQIYASIDYQpi';
const failed =
  'CpgCCkdzaGEyNTY6NTJhYTU1MGZkMjEyMmUwOGExODA0YjY1ZTFkYTUxNmNkNThlYmE4ZDgzZWM2MjlmNzBlNzQ1MTgzMTRlODI2MBJHc2hhMjU2OjE5OGFlZTVkODE2NmQxNWU1ZjE1YWUzNGFhNGVjYmE0OGI1YjM3NjQxNjhkOGZkMDFlYjQzOTdlZDYyMWQ5YWYaH1szLzNdIFJVTiBwcmludGYgImFcbmIiOyBleGl0IDQqCwjHv4TYBhCwypFuMgwIx7+E2AYQps+bsAI6SGV4ZWN1dG9yIGZhaWxlZCBydW5uaW5nIFsvYmluL3NoIC1jIHByaW50ZiAiYVxuYiI7IGV4aXQgNF06IGV4aXQgY29kZTogNA==';
const buildKitFailed = [
  ...[started, running, wrote, failed].map((aux) => JSON.stringify({ id: 'moby.buildkit.trace', aux })),
  String.raw`{"errorDetail":{"message":"executor failed running [/bin/sh -c printf \"a\\nb\"; exit 4]: exit code: 4"},"error":"x"}`,
];

function read(messages: readonly string[]): { outcome: BuildOutcome; log: string[] } {
  const log: string[] = [];
  const output = new BuildOutput((line) => log.push(line));
  output.write(messages.join('\r\n') + '\r\n');
  return { outcome: output.end(), log };
}

describe('the answer to a build', () => {
  test('of Podman becomes lines; the engine’s own lines do not stick to a command’s last one', () => {
    const { outcome, log } = read(podmanKilled);
    expect(log).toEqual(['STEP 6/6: RUN tail /dev/zero', 'start', 'container exited on killed']);
    expect(outcome).toMatchObject({ instruction: 'RUN tail /dev/zero', imageId: null, error: { code: null } });
  });

  test('of BuildKit becomes numbered lines, with what is cached, and the step that failed', () => {
    const { outcome, log } = read(buildKitFailed);
    expect(log).toEqual([
      '#1 [1/3] COPY busybox /bin/busybox',
      '#1 CACHED',
      '#2 [2/3] RUN ["/bin/busybox","--install","-s","/bin"]',
      '#2 CACHED',
      '#3 [3/3] RUN printf "a\\nb"; exit 4',
      '#3 a',
      '#3 b',
    ]);
    expect(outcome.instruction).toBe('RUN printf "a\\nb"; exit 4');
    expect(outcome.instructionLines.slice(-2)).toEqual(['a', 'b']);
  });

  test('is the same however it is cut into pieces', () => {
    const whole = read(buildKitFailed);
    const log: string[] = [];
    const output = new BuildOutput((line) => log.push(line));
    for (const character of buildKitFailed.join('\n')) output.write(character);
    expect(output.end()).toEqual(whole.outcome);
    expect(log).toEqual(whole.log);
  });

  test('loses colours, progress bars and empty lines, and keeps the image', () => {
    const { outcome, log } = read([
      JSON.stringify({ stream: '\u001b[91mred\u001b[0m\n\n 10%\r 50%\r100%\n' }),
      JSON.stringify({ status: 'Downloading', id: 'abc', progress: '[=> ]' }),
      JSON.stringify({ status: 'Pull complete', id: 'abc' }),
      JSON.stringify({ aux: { ID: 'sha256:1' } }),
      JSON.stringify({ id: 'moby.image.id', aux: { ID: 'sha256:2' } }),
    ]);
    expect(log).toEqual(['red', '100%', 'abc: Pull complete']);
    expect(outcome.imageId).toBe('sha256:2');
  });

  test('keeps the last fifty lines', () => {
    const { outcome } = read([JSON.stringify({ stream: Array.from({ length: 70 }, (_, index) => `${index}\n`).join('') })]);
    expect([outcome.lines.length, outcome.lines[0], outcome.lines.at(-1)]).toEqual([50, '20', '69']);
  });

  test('a trace that is cut short is an error, not nonsense', () => {
    const bytes = Buffer.from(wrote, 'base64');
    expect(() => decodeTrace(bytes.subarray(0, 40).toString('base64'))).toThrow(RangeError);
  });
});

describe('why a build failed', () => {
  const fail = (messages: readonly string[], change: Partial<FailedBuild> = {}): ReturnType<typeof buildFailure> => {
    const { outcome } = read(messages);
    return buildFailure({
      outcome,
      message: outcome.error?.message ?? '',
      dockerfilePath: 'Dockerfile',
      dockerfile: parseDockerfile('FROM scratch\nENV A=1\n'),
      memoryMiB: 64,
      wasKilledForMemory: null,
      ...change,
    });
  };
  const output = (message: string, instruction = ''): ReturnType<typeof buildFailure> =>
    fail([
      ...(instruction === '' ? [] : [JSON.stringify({ stream: `STEP 1/1: ${instruction}\n` })]),
      JSON.stringify({ error: message }),
    ]);

  test.each([
    ['Podman', podmanFailed],
    ['BuildKit', buildKitFailed],
  ])('%s: a command that fails, with its code', (_name, messages) => {
    const error = fail(messages);
    expect(error.code).toBe('BUILD_COMMAND_FAILED');
    expect(error.message).toBe('RUN printf "a\\nb"; exit 4 exited with code 4.');
    expect(error.evidence.exit).toEqual({ code: 4, outOfMemory: false });
  });

  test('a kill is lack of memory unless the kernel says it was not, or there was no limit', () => {
    expect(fail(podmanKilled)).toMatchObject({
      code: 'BUILD_OUT_OF_MEMORY',
      evidence: { exit: { code: 137, outOfMemory: true } },
    });
    expect(fail(podmanKilled, { wasKilledForMemory: false }).code).toBe('BUILD_COMMAND_FAILED');
    expect(fail(podmanKilled, { memoryMiB: null }).code).toBe('BUILD_COMMAND_FAILED');
    expect(fail(podmanFailed, { wasKilledForMemory: true }).code).toBe('BUILD_OUT_OF_MEMORY');
  });

  test.each([
    ['npm', 'npm error signal SIGKILL'],
    ['make', 'g++: fatal error: Killed signal terminated program cc1plus'],
    ['a shell', 'Killed'],
    ['node', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
  ])('where the kernel cannot be asked, the words of %s count', (_name, line) => {
    const messages = [podmanFailed[0] ?? '', JSON.stringify({ stream: `${line}\n` }), podmanFailed[2] ?? ''];
    expect(fail(messages).code).toBe('BUILD_OUT_OF_MEMORY');
  });

  test.each([
    // Docker Engine 20.10
    [
      'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.1:53: no such host',
      'FROM a/b:1',
      'a/b:1',
      true,
    ],
    ["pull access denied for a/b, repository does not exist or may require 'docker login': denied", 'FROM a/b', 'a/b', false],
    ['manifest for a/b:9 not found: manifest unknown: manifest unknown', 'FROM --platform=linux/amd64 a/b:9', 'a/b:9', false],
    // BuildKit of Docker Engine 23 and later
    [
      'failed to solve: a/b:9: failed to resolve source metadata for docker.io/a/b:9: not found',
      '[internal] load metadata for docker.io/a/b:9',
      'docker.io/a/b:9',
      false,
    ],
    // Podman
    [
      'creating build container: initializing source docker://a/b:1: pinging container registry a: Get "https://a/v2/": dial tcp: i/o timeout',
      'FROM a/b:1',
      'a/b:1',
      true,
    ],
    [
      'creating build container: short-name "nope" did not resolve to an alias and no unqualified-search registries are defined',
      'FROM nope',
      'nope',
      false,
    ],
  ])('an image that cannot be had: %s', (message, instruction, image, isRetryable) => {
    const error = output(message, instruction);
    expect([error.code, error.retryable]).toEqual(['BASE_IMAGE_UNAVAILABLE', isRetryable]);
    expect(error.message).toContain(`The image ${image} could not be pulled`);
  });

  test.each([
    ['dockerfile parse error line 3: unknown instruction: FROB', '', 'Dockerfile, line 3: unknown instruction: FROB.'],
    ['dockerfile parse error on line 3: unknown instruction: FROB (did you mean FROM?)', '', 'Dockerfile, line 3: unknown'],
    ['building at STEP "ENV A=1": bad substitution', 'ENV A=1', 'Dockerfile, line 2: bad substitution.'],
  ])('a fault in the Dockerfile: %s', (message, instruction, words) => {
    const error = output(message, instruction);
    expect(error.code).toBe('DOCKERFILE_INVALID');
    expect(error.message).toContain(words);
  });

  test('BuildKit of Docker Engine 23 and later words a failed command in another way', () => {
    const error = output(
      'failed to solve: process "/bin/sh -c exit 3" did not complete successfully: exit code: 3',
      'RUN exit 3',
    );
    expect(error).toMatchObject({ code: 'BUILD_COMMAND_FAILED', message: 'RUN exit 3 exited with code 3.' });
  });

  test.each([
    ['by the engine', 'write /var/lib/docker/tmp/x: no space left on device', 'COPY . .'],
    ['by the command', 'building at STEP "RUN dd": while running runtime: exit status 1', 'RUN dd\ndd: No space left on device'],
  ])('a full disk, told %s', (_name, message, lines) => {
    expect(output(message, lines).code).toBe('DISK_FULL');
  });

  test('what nobody knows is passed on in the engine’s words', () => {
    expect(output('the moon is in the wrong place')).toMatchObject({
      code: 'ENGINE_FAILED',
      message: 'The container engine could not build: the moon is in the wrong place.',
    });
  });
});
