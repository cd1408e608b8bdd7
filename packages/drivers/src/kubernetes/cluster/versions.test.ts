import { expect, test } from 'vitest';
import { compareVersions, parseVersion, stepFault } from './versions.ts';

test.each([
  ['v1.36.2+k3s1', { distribution: 'k3s', major: 1, minor: 36, patch: 2, build: 1 }],
  ['1.36.2+rke2r3', { distribution: 'rke2', major: 1, minor: 36, patch: 2, build: 3 }],
  ['v1.36.0-rc1+k3s1', { distribution: 'k3s', major: 1, minor: 36, patch: 0, build: 1 }],
  ['v1.36.2', null],
  ['v1.33.1-gke.1037000', null],
  ['v1.33.1-eks-7308294', null],
  ['', null],
])('%j is %j', (text, version) => {
  expect(parseVersion(text)).toEqual(version);
});

test.each([
  ['v1.35.9+k3s1', 'v1.36.0+k3s1'],
  ['v1.36.0+k3s1', 'v1.36.0+k3s2'],
  ['v1.36.9+k3s1', 'v1.36.10+k3s1'],
])('%s is older than %s', (a, b) => {
  const [older, newer] = [parseVersion(a), parseVersion(b)];
  if (older === null || newer === null) throw new Error('both are versions');
  expect(compareVersions(older, newer)).toBeLessThan(0);
  expect(compareVersions(newer, older)).toBeGreaterThan(0);
  expect(compareVersions(older, older)).toBe(0);
});

test.each([
  ['v1.35.4+k3s1', 'v1.36.2+k3s1'],
  ['v1.36.2+k3s1', 'v1.36.2+k3s1'],
  ['v1.36.2+rke2r1', 'v1.36.3+rke2r1'],
])('from %s to %s is a step', (from, to) => {
  expect(stepFault(from, to)).toBeNull();
});

test.each([
  ['v1.34.4+k3s1', 'v1.36.2+k3s1', 'skips a minor version'],
  ['v1.36.2+k3s1', 'v1.35.9+k3s1', 'cannot be downgraded'],
  ['v1.36.2+k3s1', 'v1.36.3+rke2r1', 'another distribution'],
  ['v1.36.2', 'v1.36.3+k3s1', 'neither K3s nor RKE2'],
  ['v1.36.2+k3s1', 'latest', 'not a version of K3s or RKE2'],
])('from %s to %s is none: %s', (from, to, words) => {
  expect(stepFault(from, to)).toContain(words);
});
