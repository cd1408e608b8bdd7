import { expect, test } from 'vitest';
import type { Variable } from '../pages/variables/draft.ts';
import { digestOf, referencesOf, type Seen } from './reference-graph.ts';
import { mentionsIn } from './mentions.ts';

const at = '2026-01-01T00:00:00Z';
const variable = (key: string, value: string | null, scope: Variable['scope'], more: Partial<Variable> = {}): Variable => ({
  id: `id of ${key}`,
  created_at: at,
  key,
  value,
  mount_path: null,
  scope,
  variable_type: scope === 'BUILT_IN' ? 'BUILT_IN' : 'VALUE',
  is_secret: value === null,
  ...more,
});
const aliasOf = (target: Variable): Partial<Variable> => ({
  variable_type: 'ALIAS',
  aliased_variable: { id: target.id, key: target.key, mount_path: '', scope: target.scope, variable_type: 'VALUE' },
});

const orders = { service_id: 'orders', service_name: 'orders' };
const host = variable('DAVIT_POSTGRESQL_Z1_HOST_INTERNAL', 'z1a2b3c4d-postgresql', 'BUILT_IN', orders);
const url = variable('DAVIT_POSTGRESQL_Z1_DATABASE_URL', null, 'BUILT_IN', orders);
const output = variable('DAVIT_OUTPUT_JOB_Z0A1B2C3D_BUCKET', 'shop-files', 'BUILT_IN');
const bucket = variable('BUCKET', 'shop-files', 'ENVIRONMENT', aliasOf(output));
const everybody = [host, url, output, bucket];
const own = (service: string): Variable =>
  variable(`DAVIT_APPLICATION_${service}_HOST_INTERNAL`, `app-${service}`, 'BUILT_IN', { service_id: service });
const hosts = {
  publicly: new Map([['shop.example.org', 'web']]),
  byName: new Map([
    ['orders', 'orders'],
    ['api', 'api'],
    ['web', 'web'],
    ['seed', '0a1b2c3d-0000-4000-8000-000000000000'],
  ]),
};
const seen = (service: string, ...variables: Variable[]): Seen => ({
  serviceId: service,
  variables: [own(service), ...everybody, ...variables],
});
const app = (key: string, value: string | null, more: Partial<Variable> = {}) => variable(key, value, 'APPLICATION', more);

test('a service refers to another one by an alias, by braces, by its address or by its name', () => {
  const found = referencesOf(
    [
      seen('api', app('STORE', null, aliasOf(url)), app('STORE_HOST', 'x', aliasOf(host)), app('FILES', 's3://{{ BUCKET }}/a')),
      seen(
        'web',
        app('API', 'http://api:8080'),
        app('CONNECTION', 'postgres://me@z1a2b3c4d-postgresql:5432/shop'),
        app('A', 'app-api'),
      ),
      seen(
        'mail',
        app('SHOP', 'https://shop.example.org/orders'),
        app('MODE', 'api'),
        app('SECRET', null),
        app('SELF', 'app-mail'),
      ),
      { serviceId: null, variables: everybody },
    ].map(digestOf),
    hosts,
  );
  expect(found).toEqual([
    { from: 'api', to: 'orders', keys: ['STORE', 'STORE_HOST'] },
    { from: 'api', to: '0a1b2c3d-0000-4000-8000-000000000000', keys: ['FILES'] },
    { from: 'web', to: 'api', keys: ['A', 'API'] },
    { from: 'web', to: 'orders', keys: ['CONNECTION'] },
    { from: 'mail', to: 'web', keys: ['SHOP'] },
    { from: null, to: '0a1b2c3d-0000-4000-8000-000000000000', keys: ['BUCKET'] },
  ]);
});

test('braces in a file count only where they are replaced, and circles end', () => {
  const file = { mount_path: '/etc/x' };
  const found = referencesOf(
    [
      seen('api', app('FILE', '{{BUCKET}}', file), app('A', '{{B}}'), app('B', '{{A}}')),
      seen('web', app('FILE', '{{BUCKET}}', { ...file, enable_interpolation_in_file: true })),
    ].map(digestOf),
    hosts,
  );
  expect(found).toEqual([{ from: 'web', to: '0a1b2c3d-0000-4000-8000-000000000000', keys: ['FILE'] }]);
});

test('a word is a host only where an address has one', () => {
  const named = (value: string) => mentionsIn(value).authorities;
  expect(named('http://api/v1, redis://:secret@cache:6379 and amqp://queue')).toEqual(['api', 'cache', 'queue']);
  expect(named('api:8080')).toEqual(['api']);
  for (const value of ['api', 'the api: 3 of 4', 'https://api.example.org', 'postgres:17-alpine'])
    expect(named(value)).toEqual([]);
});
