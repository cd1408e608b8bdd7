import { operations } from '@davit/contract';
import { AppError } from '@davit/base';
import { expect, test } from 'vitest';
import { bodyChecker, queryChecker } from './validation.ts';

const check = bodyChecker(operations.createApplication);
const valid = { name: 'web', dockerfile_path: 'Dockerfile', git_repository: { url: 'https://git.example.org/a/b.git' } };

function errorsOf(body: unknown, bytes = 100): readonly { path: string; message: string }[] {
  try {
    check(body, bytes);
  } catch (error) {
    if (error instanceof AppError) return error.errors;
    throw error;
  }
  return [];
}

test('a valid body passes, fields that nobody knows included', () => {
  expect(errorsOf({ ...valid, later: { x: 1 } })).toEqual([]);
});

test.each([
  [{ ...valid, cpu: '500' }, 'cpu', 'must be a whole number or null'],
  [{ ...valid, cpu: 1 }, 'cpu', 'must be at least 10'],
  [{ ...valid, name: '   ' }, 'name', 'must not be blank'],
  [{ ...valid, name: 'x'.repeat(256) }, 'name', 'must have at most 255 characters'],
  [{ ...valid, ports: [{ publicly_accessible: true }] }, 'ports.0.internal_port', 'is required'],
  [{ ...valid, ports: [{ internal_port: 70_000, publicly_accessible: true }] }, 'ports.0.internal_port', 'must be at most 65535'],
  [{ ...valid, ports: {} }, 'ports', 'must be a list or null'],
  [{ ...valid, healthchecks: 5 }, 'healthchecks', 'must be an object or null'],
  [
    { ...valid, healthchecks: { readiness_probe: { type: { http: { port: 'x' } } } } },
    'healthchecks.readiness_probe.type.http.port',
    'must be a whole number',
  ],
  [{ ...valid, storage: [{ type: 'HDD', size: 1, mount_point: '/a' }] }, 'storage.0.type', 'must be one of FAST_SSD'],
  [
    { ...valid, git_repository: { ...valid.git_repository, git_token_id: 'x' } },
    'git_repository.git_token_id',
    'must be a uuid such as',
  ],
  [{ name: 'a' }, 'git_repository', 'is required'],
  [[], '', 'must be an object'],
])('%j is refused at its place', (body, path, message) => {
  const errors = errorsOf(body);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ path, message: expect.stringContaining(message) });
});

test('of a large body only the first error is looked for, and never more than a hundred are told', () => {
  const ports = Array.from({ length: 100 }, () => ({ internal_port: 0, publicly_accessible: 1 }));
  expect(errorsOf({ ...valid, ports })).toHaveLength(100);
  expect(errorsOf({ ...valid, ports }, 100_000)).toHaveLength(1);
});

test('a query is converted, and what does not convert is named', () => {
  const checkQuery = queryChecker(operations.listApplicationLog);
  expect(checkQuery({ tail: '5' })).toEqual({ tail: 5 });
  expect(() => checkQuery({ tail: 'many' })).toThrow('tail must be a whole number');
  expect(() => checkQuery({ tail: '0' })).toThrow('tail must be at least 1');
});
