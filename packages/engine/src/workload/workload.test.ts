import { describe, expect, test } from 'vitest';
import { config } from '../testing/config.ts';
import { allKinds } from '../kinds/index.ts';
import { Kinds } from '../kinds/kinds.ts';
import { plainValues, readyTimeout, secretIds, secretNames, toWorkload } from './workload.ts';

const kinds = new Kinds(allKinds);

const input = {
  kinds,
  owner: {
    installation: 'i',
    organization: 'o',
    project: 'p',
    environment: 'e',
    service: 'abcdef01-0000-4000-8000-000000000000',
  },
  release: 'r',
  rollout: 'x',
  image: 'sha256:1',
  commit: { id: 'c0ffee' },
  builtInPrefix: 'DAVIT_',
  readyTimeoutSeconds: 120,
  terminationGraceSeconds: 10,
};
const mixed = config({
  environment: [
    { name: 'PLAIN', parts: ['a'] },
    { name: 'URL', parts: ['https://user:', { secret: 's1' }, '@host'] },
  ],
  files: [{ path: '/etc/key', parts: [{ secret: 's2' }] }],
});

describe('a workload', () => {
  test('joins values with their secrets and carries the commit', () => {
    const workload = toWorkload({
      ...input,
      config: mixed,
      secrets: new Map([
        ['s1', 'pw'],
        ['s2', 'key'],
      ]),
    });
    expect(workload.environment.map((entry) => [entry.name, entry.value.reveal()])).toEqual([
      ['PLAIN', 'a'],
      ['URL', 'https://user:pw@host'],
      ['DAVIT_APPLICATION_ZABCDEF01_GIT_COMMIT_ID', 'c0ffee'],
      ['DAVIT_GIT_COMMIT_ID', 'c0ffee'],
    ]);
    expect(workload.files[0]?.content.reveal()).toBe('key');
    expect(JSON.stringify(workload)).not.toContain('pw');
  });

  test('without secrets has no values at all, as it is only observed', () => {
    const workload = toWorkload({ ...input, config: mixed, secrets: null });
    expect(workload.environment).toEqual([]);
    expect(workload.files).toEqual([]);
  });

  test('of a release whose secret is gone says so instead of running without it', () => {
    expect(() => toWorkload({ ...input, config: mixed, secrets: new Map([['s1', 'pw']]) })).toThrow(/no longer exists/);
  });
});

test('a build sees variables without secrets only', () => {
  expect(plainValues(mixed)).toEqual({ PLAIN: 'a' });
  expect(secretNames(mixed)).toEqual(['URL']);
  expect(secretIds(kinds, mixed)).toEqual(['s1', 's2']);
});

test('a readiness probe’s own timing says how long a rollout may take', () => {
  const probe = {
    check: { type: 'tcp', port: 1, host: null },
    initialDelaySeconds: 30,
    periodSeconds: 10,
    timeoutSeconds: 5,
    successThreshold: 1,
    failureThreshold: 9,
  } as const;
  expect(readyTimeout(probe, 7)).toBe(130);
  expect(readyTimeout(null, 7)).toBe(7);
});
