import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { busybox, TestSetup } from './support/setup.ts';

const from = `FROM ${busybox}\n`;
const serving = (port: number): string => `CMD ["httpd", "-f", "-p", "${port}", "-h", "/tmp"]\n`;
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

interface Case {
  readonly cause: string;
  /** The text that the message must contain, so that a reader knows where to look. */
  readonly says: RegExp;
  readonly dockerfile?: string;
  readonly fields?: Parameters<TestSetup['application']>[2];
  readonly url?: (setup: TestSetup) => string;
  readonly state?: string;
  readonly commit?: string;
}

const cases: Readonly<Record<string, Case>> = {
  'repository not reachable': {
    cause: 'GIT_UNREACHABLE',
    says: /127\.0\.0\.1:9/,
    url: () => 'http://127.0.0.1:9/nothing',
  },
  'repository that is not there': {
    cause: 'GIT_ACCESS_DENIED',
    says: /no-such-repository/,
    url: (setup) => `${setup.git.url}/no-such-repository`,
  },
  'branch not found': {
    cause: 'GIT_REFERENCE_NOT_FOUND',
    says: /no-such-branch/,
    fields: { git_repository: { url: '', branch: 'no-such-branch' } },
  },
  'commit not found': { cause: 'GIT_REFERENCE_NOT_FOUND', says: /dead/, commit: 'deadbeef'.repeat(5) },
  'Dockerfile missing': { cause: 'DOCKERFILE_MISSING', says: /Elsewhere/, fields: { dockerfile_path: 'Elsewhere' } },
  'Dockerfile invalid': { cause: 'DOCKERFILE_INVALID', says: /FORM|2/, dockerfile: `${from}FORM nothing\n` },
  'target stage missing': {
    cause: 'BUILD_TARGET_MISSING',
    says: /no-such-stage/,
    fields: { docker_target_build_stage: 'no-such-stage' },
  },
  'a RUN that fails': { cause: 'BUILD_COMMAND_FAILED', says: /3/, dockerfile: `${from}RUN echo before the end; exit 3\n` },
  'build out of memory': {
    cause: 'BUILD_OUT_OF_MEMORY',
    says: /memory|MiB/i,
    dockerfile: `${from}RUN dd if=/dev/zero of=/dev/null bs=400M count=1\n`,
  },
  'base image not to be had': {
    cause: 'BASE_IMAGE_UNAVAILABLE',
    says: /127\.0\.0\.1:9\/nothing/,
    dockerfile: 'FROM 127.0.0.1:9/nothing:1\n',
  },
  'process exits at once': {
    cause: 'PROCESS_EXITED',
    says: /7/,
    dockerfile: `${from}CMD ["sh", "-c", "echo the last words; exit 7"]\n`,
    state: 'DEPLOYMENT_ERROR',
  },
  'no such program': {
    cause: 'START_FAILED',
    says: /no-such-program/,
    dockerfile: `${from}CMD ["no-such-program"]\n`,
    state: 'DEPLOYMENT_ERROR',
  },
  'out of memory at run time': {
    cause: 'OUT_OF_MEMORY',
    says: /32/,
    dockerfile: `${from}CMD ["sh", "-c", "dd if=/dev/zero of=/dev/null bs=200M count=1; exit 137"]\n`,
    fields: { memory: 32 },
    state: 'DEPLOYMENT_ERROR',
  },
  'port not listening': {
    cause: 'PORT_NOT_LISTENING',
    says: /8080/,
    dockerfile: from + serving(8080),
    state: 'DEPLOYMENT_ERROR',
  },
  'probe answers a wrong status': {
    cause: 'PROBE_FAILED',
    says: /404/,
    dockerfile: from + serving(3000),
    fields: {
      healthchecks: {
        readiness_probe: {
          type: { http: { path: '/health', port: 3000 } },
          initial_delay_seconds: 0,
          period_seconds: 1,
          failure_threshold: 3,
        },
      },
    },
    state: 'DEPLOYMENT_ERROR',
  },
};

describe.each(testEngineKinds())('on %s', (kind) => {
  let setup: TestSetup;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '4', DAVIT_BUILD_MEMORY_MIB: '128' });
  });
  afterAll(async () => {
    await setup?.close();
  });

  test.each(Object.entries(cases))('%s is explained', async (what, given) => {
    const name = what.toLowerCase().replaceAll(/[^a-z]+/g, '-');
    const { url } = setup.repository(name, { Dockerfile: given.dockerfile ?? from + serving(3000) });
    const address = given.url?.(setup) ?? url;
    const fields = { ports: [port], memory: 64, ...given.fields };
    if (fields.git_repository) fields.git_repository = { ...fields.git_repository, url: address };
    const id = await setup.application(name, address, fields);
    const status = await setup.deploy(id, given.commit === undefined ? {} : { git_commit_id: given.commit });
    // This does not use toMatchObject, so that a failure of this test shows the whole failure object.
    expect(status.failure).toEqual(expect.objectContaining({ code: given.cause }));
    expect(`${status.failure?.message} ${status.failure?.evidence.listening?.join(' ') ?? ''}`).toMatch(given.says);
    expect(status.failure?.hint.length).toBeGreaterThan(20);
    expect(status.state).toBe(given.state ?? 'BUILD_ERROR');
    expect(await setup.containers(id)).toEqual([]);
    expect(await setup.log()).toContain(status.failure?.message.slice(0, 40));
  });

  test('an engine that is stopped is explained, and the service deploys once it is back', async () => {
    const { url } = setup.repository('engine-stopped', { Dockerfile: from + serving(3000) });
    const id = await setup.application('engine-stopped', url, { ports: [port], memory: 64 });
    await setup.engine.stop();
    const status = await setup.deploy(id);
    expect(status.failure).toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    await setup.engine.start();
    expect((await setup.deploy(id)).state).toBe('DEPLOYED');
  });
});
