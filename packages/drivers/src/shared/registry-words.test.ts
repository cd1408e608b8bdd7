import { expect, test } from 'vitest';
import { pushFailure, knownWords } from './registry-words.ts';

const causeOf = (words: string, reference = 'registry.example.org/team/shop:1') => knownWords(words, reference).known?.cause;

test.each([
  'failed to push 127.0.0.1:42911/davit/denied:4f: unexpected status from HEAD request to http://127.0.0.1:42911/v2/x: 401 Unauthorized',
  'denied: requested access to sha256:9a429e0f503 is denied',
  'unauthorized: authentication required for 1429:5000/503/eof',
])('%s is no failure of the network', (words) => {
  expect(causeOf(words)).toBe('REGISTRY_ACCESS_DENIED');
});

test.each([
  ['toomanyrequests: You have reached your pull rate limit.', 'REGISTRY_UNREACHABLE'],
  ['unexpected status code 429', 'REGISTRY_UNREACHABLE'],
  ['received unexpected HTTP status: 503 Service Unavailable', 'REGISTRY_UNREACHABLE'],
  ['Get "https://registry.example.org/v2/": EOF', 'REGISTRY_UNREACHABLE'],
  ['Get "https://registry.example.org/v2/": x509: certificate has expired', 'REGISTRY_UNREACHABLE'],
  ['Get "https://registry.example.org/v2/": tls: handshake failure', 'REGISTRY_UNREACHABLE'],
  ['manifest for registry.example.org/team/shop:1 not found', 'IMAGE_NOT_FOUND'],
  ['manifest unknown', 'IMAGE_NOT_FOUND'],
  ['something else', undefined],
])('%s: %s', (words, cause) => {
  expect(causeOf(words)).toBe(cause);
});

// The name of an image does not explain why it is unavailable.
test.each(['tls', 'certificate', 'geofence', 'timeout', '429', '503', 'denied', 'forbidden-list', 'rate-limit', 'eof', 'lookup'])(
  'an image called %s is refused for what the registry says',
  (name) => {
    for (const reference of [
      `registry.example.org/team/${name}:1`,
      `registry.example.org/${name}/app@sha256:${'4290'.repeat(16)}`,
    ]) {
      expect(causeOf(`${reference}: manifest unknown`, reference)).toBe('IMAGE_NOT_FOUND');
      expect(causeOf(`pull access to ${reference.replace(/^[^/]*\//, '')} was unauthorized`, reference)).toBe(
        'REGISTRY_ACCESS_DENIED',
      );
      expect(causeOf(`something about ${reference}`, reference)).toBeUndefined();
    }
  },
);

test.each([
  ['Get "https://10.0.0.5:5000/v2/": http: server gave HTTP response to HTTPS client', false],
  ['tls: failed to verify certificate: x509: certificate signed by unknown authority', false],
  ['unauthorized: authentication required', false],
  ['something else', false],
  ['remote error: tls: internal error', true],
  ['dial tcp 10.0.0.5:5000: connect: connection refused', true],
  ['toomanyrequests: slow down', true],
  ['errors:\nunknown: provided digest did not match uploaded content\nunknown: blob unknown to registry - sha256:350a00c1', true],
  ['unknown: blob upload unknown to registry', true],
])('%s: trying again may help: %s', (words, may) => {
  expect(pushFailure('10.0.0.5:5000/shop:1', words).retryable).toBe(may);
});

test('a push keeps the words of the registry as they are', () => {
  const failure = pushFailure('registry.example.org/tls:1', 'push to registry.example.org/tls:1 failed: unauthorized.');
  expect(failure.code).toBe('REGISTRY_ACCESS_DENIED');
  expect(failure.message).toContain('push to registry.example.org/tls:1 failed: unauthorized.');
});
