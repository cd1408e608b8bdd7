import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { authorization } from './api.ts';
import { readServiceAccount } from './service-account.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'davit-account-'));
  writeFileSync(join(folder, 'token'), 'first\n');
  writeFileSync(join(folder, 'ca.crt'), 'authority');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const pod = { KUBERNETES_SERVICE_HOST: '10.43.0.1', KUBERNETES_SERVICE_PORT: '6443' };

test('a pod reaches the API server of its cluster as its service account', () => {
  expect(readServiceAccount(pod, folder)).toEqual({
    server: 'https://10.43.0.1:6443',
    isUnchecked: false,
    authority: 'authority',
    token: 'first',
  });
  expect(readServiceAccount({ KUBERNETES_SERVICE_HOST: 'fd00::1' }, folder).server).toBe('https://[fd00::1]:443');
});

test('a token that the kubelet has renewed is used', () => {
  const access = readServiceAccount(pod, folder);
  const now = performance.now();
  writeFileSync(join(folder, 'token'), 'second');
  expect(authorization(access)).toEqual({ authorization: 'Bearer first' });
  vi.spyOn(performance, 'now').mockReturnValue(now + 11_000);
  expect(authorization(access)).toEqual({ authorization: 'Bearer second' });
});

test('outside of a pod, and in one without a token, it is said what is missing', () => {
  expect(() => readServiceAccount({}, folder)).toThrow(/does not run in a pod/);
  rmSync(join(folder, 'token'));
  expect(() => readServiceAccount(pod, folder)).toThrow(/token cannot be read: ENOENT/);
});
