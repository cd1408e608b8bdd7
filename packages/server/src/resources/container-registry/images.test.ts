import { expect, test } from 'vitest';
import { keyUsers, vendorRegistries } from '../../vendors.ts';
import { registrySignIn, repositoryName } from './images.ts';

test('an image has the name that its registry knows it by', () => {
  const hub = vendorRegistries.HUBA_CR;
  expect(repositoryName(new URL(hub.url), 'nginx', hub)).toBe('library/nginx');
  expect(repositoryName(new URL(hub.url), 'team/web', hub)).toBe('team/web');
  expect(repositoryName(new URL('https://ghcr.io'), 'web', vendorRegistries.HOSTA_CR)).toBe('web');
  expect(repositoryName(new URL('https://registry.example.org/shop/'), 'web')).toBe('shop/web');
});

test('a registry is signed in to with what its kind has', () => {
  const user = { username: 'ann', password: 'sesame' };
  expect(registrySignIn('GENERIC_CR', user)).toEqual(user);
  expect(registrySignIn('GENERIC_CR', {})).toBeNull();
  expect(registrySignIn('PUBLIC_ECR', {})).toBeNull();
  const key = { region: 'r', vendora_access_key: 'k', vendora_secret_key: 's' };
  expect(registrySignIn('VENDORA_CR', key)).toEqual({ username: keyUsers.VENDORA_CR, password: 's' });
  expect(registrySignIn('CLOUDC_ARTIFACT_REGISTRY', { json_credentials: '{}' })).toEqual({
    username: '_json_key',
    password: '{}',
  });
  expect(() => registrySignIn('ECR', {})).toThrow(expect.objectContaining({ code: 'NOT_SUPPORTED' }));
});
