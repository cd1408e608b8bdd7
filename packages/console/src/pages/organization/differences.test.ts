import { expect, test } from 'vitest';
import { differences } from './differences.ts';

test('two records are compared field by field', () => {
  const before = JSON.stringify({ name: 'api', memory: 512, ports: [{ port: 80 }], updated_at: '1' });
  const after = JSON.stringify({ name: 'api', memory: 600, ports: [{ port: 80 }, { port: 81 }], updated_at: '2' });
  expect(differences(before, after)).toEqual([
    { path: 'memory', before: '512', after: '600' },
    { path: 'ports.1.port', before: null, after: '81' },
  ]);
});

test('a record that began has no former fields, and one that is gone has only these', () => {
  expect(differences(null, '{"name":"api"}')).toEqual([{ path: 'name', before: null, after: 'api' }]);
  expect(differences('{"name":"api"}', '')).toEqual([{ path: 'name', before: 'api', after: null }]);
});
