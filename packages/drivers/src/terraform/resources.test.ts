import { expect, test } from 'vitest';
import { resourcesOf } from './resources.ts';

const bucket = {
  address: 'cloud_bucket.files["a"]',
  mode: 'managed',
  type: 'cloud_bucket',
  name: 'files',
  index: 'a',
  provider_name: 'registry.example.org/cloud/cloud',
  schema_version: 1,
  values: { region: 'here', key: 'sesame', tags: { team: 'shop', token: 'sesame' }, rules: ['open', 'sesame'], days: [{ n: 1 }] },
  sensitive_values: { key: true, tags: { token: true }, rules: [false, true], days: [{}] },
};

test('resources are told with those of modules, and without what is sensitive in them', () => {
  const lookup = { ...bucket, address: 'module.net.data.cloud_zone.here', mode: 'data', values: {}, sensitive_values: {} };
  const root_module = { resources: [bucket], child_modules: [{ child_modules: [{ resources: [lookup] }] }] };
  expect(resourcesOf(JSON.stringify({ format_version: '1.0', values: { root_module } }))).toEqual([
    {
      address: 'cloud_bucket.files["a"]',
      mode: 'managed',
      type: 'cloud_bucket',
      name: 'files',
      provider: 'registry.example.org/cloud/cloud',
      attributes: { region: 'here', tags: { team: 'shop' }, rules: ['open', null], days: [{ n: 1 }] },
    },
    expect.objectContaining({ address: 'module.net.data.cloud_zone.here', mode: 'data', attributes: {} }),
  ]);
});

test('a resource that is sensitive as a whole has no attributes', () => {
  const root_module = { resources: [{ ...bucket, sensitive_values: true }] };
  expect(resourcesOf(JSON.stringify({ values: { root_module } }))).toMatchObject([{ name: 'files', attributes: {} }]);
});

test('an empty state has no resources', () => {
  expect(resourcesOf('{"format_version":"1.0"}')).toEqual([]);
  expect(resourcesOf('')).toEqual([]);
});
