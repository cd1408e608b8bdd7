import { describe, expect, test } from 'vitest';
import { labelDockerfile, planBuild, type BuildPlan, type PlanInput } from './build-query.ts';
import { parseDockerfile } from '../../shared/build/dockerfile.ts';
import { buildRequest, testOwner } from '../../shared/build/testing.ts';

const docker = { engine: 'docker', canLimitMemory: true, canLimitCpu: true, isRootless: false } as const;
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
    ...change,
  });
}

describe('what is asked of an engine', () => {
  test('Docker Engine builds with the classic builder, which holds commands to memory and CPU', () => {
    const { builder, query, memoryMiB } = plan('FROM scratch\n');
    expect([builder, memoryMiB, query['version']]).toEqual(['classic', 256, '1']);
    expect(query).toMatchObject({
      memory: '268435456',
      memswap: '268435456',
      cpuperiod: '100000',
      cpuquota: '100000',
      forcerm: '1',
    });
  });

  test('a build without the cache of earlier ones is asked for as such', () => {
    expect(plan('FROM scratch\n').query['nocache']).toBeUndefined();
    expect(plan('FROM scratch\n', { request: { ...buildRequest('/x'), withoutCache: true } }).query['nocache']).toBe('1');
  });

  test('BuildKit builds what only it can, and the log says that it has no limits', () => {
    const { builder, query, memoryMiB, remarks } = plan('FROM scratch\nRUN --mount=type=cache,target=/c true\n');
    expect([builder, memoryMiB, query['version'], query['memory']]).toEqual(['buildkit', null, '2', undefined]);
    expect(remarks).toEqual([expect.stringContaining('RUN --mount in line 2')]);
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
      traits: { ...docker, canLimitMemory: false, canLimitCpu: false },
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
    const text = labelDockerfile('sha256:abc', { owner: { ...testOwner, project: 'a"b$c\\d' } });
    expect(text).toMatch(/^FROM abc\nLABEL "davit\.environment"="e" "davit\.installation"="build-test" .*\n$/);
    expect(text).toContain(String.raw`"davit.project"="a\"b\$c\\d"`);
  });
});
