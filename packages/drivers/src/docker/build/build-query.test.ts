import { describe, expect, test } from 'vitest';
import { labelledDockerfile, planBuild, type BuildPlan, type PlanInput } from './build-query.ts';
import { parseDockerfile } from '../../shared/build/dockerfile.ts';
import { buildRequest, testOwner } from '../../shared/build/testing.ts';

const docker = {
  engine: 'docker',
  version: '20.10.24',
  canLimitMemory: true,
  canLimitCpu: true,
  isRootless: false,
  dataFolder: '/var/lib/docker',
} as const;
const podman = { ...docker, engine: 'podman' } as const;

function plan(text: string, change: Partial<PlanInput> = {}): BuildPlan {
  const dockerfile = parseDockerfile(text);
  return planBuild({
    request: buildRequest('/x'),
    dockerfile,
    dockerfilePath: 'Dockerfile',
    traits: docker,
    group: null,
    processes: null,
    mark: null,
    unlimitedBecause: null,
    ...change,
  });
}

describe('what is asked of an engine', () => {
  test('Docker Engine builds with BuildKit, and with labels that cost no step', () => {
    const { builder, query, memoryMiB, remarks } = plan('FROM scratch\n', { mark: 'davit-build-1.invalid' });
    expect([builder, memoryMiB, query['version']]).toEqual(['buildkit', 256, '2']);
    expect(JSON.parse(query['labels'] ?? '')).toMatchObject({ 'davit.service': 's' });
    expect(JSON.parse(query['buildargs'] ?? '')).toEqual({ NO_PROXY: 'davit-build-1.invalid' });
    expect(query['memory']).toBeUndefined();
    expect(remarks).toEqual([]);
  });

  test('a build without the cache of earlier ones is asked for as such', () => {
    expect(plan('FROM scratch\n').query['nocache']).toBeUndefined();
    expect(plan('FROM scratch\n', { request: { ...buildRequest('/x'), withoutCache: true } }).query['nocache']).toBe('1');
  });

  test('the log says where the commands of BuildKit cannot be limited', () => {
    const { memoryMiB, remarks } = plan('FROM scratch\n', { unlimitedBecause: 'the engine runs on another machine' });
    expect(memoryMiB).toBeNull();
    expect(remarks).toEqual(['Memory, CPU and processes of this build are not limited: the engine runs on another machine']);
  });

  test('Podman builds in a network and a control group of the build’s own', () => {
    const { builder, query } = plan('FROM scratch\nRUN <<E\nE\n', { traits: podman, group: 'g' });
    expect(builder).toBe('podman');
    expect(JSON.parse(query['nsoptions'] ?? '')).toEqual([{ Name: 'network', Host: false, Path: '' }]);
    expect(query['cgroupparent']).toBe('/g/run');
    expect(query['labels']).toBeUndefined();
    expect(JSON.parse(query['dropcaps'] ?? '')).toEqual(['CAP_AUDIT_WRITE', 'CAP_MKNOD', 'CAP_NET_RAW', 'CAP_SETPCAP']);
  });

  test('the log says where Podman cannot limit the processes of a build', () => {
    const remarks = (processes: number | null): readonly string[] =>
      plan('FROM scratch\n', { traits: podman, group: 'g', processes }).remarks;
    expect(remarks(4096)).toEqual([]);
    expect(remarks(null)).toEqual([expect.stringContaining('number of processes')]);
  });

  test('a host that cannot limit is not asked to', () => {
    const { query, memoryMiB, remarks } = plan('FROM scratch\n', {
      traits: { ...podman, canLimitMemory: false, canLimitCpu: false },
    });
    expect([query['memory'], query['cpuquota'], memoryMiB]).toEqual([undefined, undefined, null]);
    expect(remarks.join('\n')).toContain('cannot limit memory');
  });

  test('arguments are those that are declared, given and no secrets', () => {
    const request = buildRequest('/x', { arguments: { A: '1', S: 'secret', X: 'x' }, secretNames: ['S', 'T'] });
    const { query, remarks } = plan('FROM scratch\nARG A\nARG S=none\nARG toString\n', { request });
    expect(JSON.parse(query['buildargs'] ?? '')).toEqual({ A: '1' });
    expect(remarks).toEqual([expect.stringContaining('ARG S gets no value')]);
  });

  test('labels for Podman are one instruction in a fixed order, and nothing in them is expanded', () => {
    const request = { owner: { ...testOwner, project: 'a"b$c\\d' }, targetStage: null };
    const content = 'FROM scratch\nCMD ["x"]';
    const text = labelledDockerfile(content, parseDockerfile(content), request);
    expect(text).toMatch(/^FROM scratch\nCMD \["x"\]\nLABEL "davit\.environment"="e" "davit\.installation"="build-test" .*\n$/);
    expect(text).toContain(String.raw`"davit.project"="a\"b\$c\\d"`);
  });

  test('the labels for Podman are those of the stage that is built', () => {
    const content = 'FROM a AS one\nRUN x\n\n# next\nFROM one AS two\nRUN y\n';
    const text = labelledDockerfile(content, parseDockerfile(content), { owner: testOwner, targetStage: 'ONE' });
    expect(text.split('\n').map((line) => line.split(' ')[0])).toEqual(['FROM', 'RUN', '', '#', 'LABEL', 'FROM', 'RUN', '']);
  });
});
