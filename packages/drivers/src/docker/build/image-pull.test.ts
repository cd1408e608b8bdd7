import { expect, test } from 'vitest';
import { pullFailure } from './image-pull.ts';

// Messages of Docker Engine 20.10 to 28 and of Podman 4 and 5, including those of registries behind them.
test.each([
  ['manifest for registry.example.org/app:2 not found: manifest unknown: manifest unknown', 'IMAGE_NOT_FOUND', 'other tags'],
  ['reading manifest 2 in registry.example.org/app: manifest unknown', 'IMAGE_NOT_FOUND', 'other tags'],
  ['repository app not found: does not exist or no pull access', 'IMAGE_NOT_FOUND', 'Check image_name'],
  ['no matching manifest for linux/arm64/v8 in the manifest list entries', 'IMAGE_NOT_FOUND', 'processor'],
  [
    'Head "https://registry.example.org/v2/app/manifests/1": unauthorized: incorrect username or password',
    'REGISTRY_ACCESS_DENIED',
    'is wrong',
  ],
  ['unauthorized: authentication required', 'REGISTRY_ACCESS_DENIED', 'requires credentials'],
  ['no basic auth credentials', 'REGISTRY_ACCESS_DENIED', 'requires credentials'],
  ['denied: requested access to the resource is denied', 'REGISTRY_ACCESS_DENIED', 'may read this image'],
  ['toomanyrequests: You have reached your pull rate limit.', 'REGISTRY_UNREACHABLE', 'rate limit of the registry'],
  [
    'Get "https://registry.example.org/v2/": x509: certificate signed by unknown authority',
    'REGISTRY_UNREACHABLE',
    'certificate',
  ],
  [
    'Get "https://registry.example.org/v2/": tls: failed to verify certificate: x509: certificate has expired',
    'REGISTRY_UNREACHABLE',
    'Renew it',
  ],
  ['Get "https://10.0.0.5:5000/v2/": http: server gave HTTP response to HTTPS client', 'REGISTRY_UNREACHABLE', 'plain http'],
  [
    'Get "https://registry.example.org/v2/": dial tcp: lookup registry.example.org: no such host',
    'REGISTRY_UNREACHABLE',
    'network',
  ],
  ['Get "https://registry.example.org/v2/": net/http: TLS handshake timeout', 'REGISTRY_UNREACHABLE', 'network'],
  ['write /var/lib/docker/tmp/x: no space left on device', 'DISK_FULL', 'Free space'],
])('%s', (words, code, hint) => {
  expect(pullFailure('registry.example.org/app:2', words)).toMatchObject({ code, hint: expect.stringContaining(hint) });
});

test('only what may pass is tried again', () => {
  const isRetried = (words: string): boolean => pullFailure('10.0.0.5:5000/shop:1', words).retryable;
  expect(isRetried('http: server gave HTTP response to HTTPS client')).toBe(false);
  expect(isRetried('dial tcp 10.0.0.5:5000: connect: connection refused')).toBe(true);
});
