import { expect, test } from 'vitest';
import type { AuditEvent } from '../../data/audit.ts';
import { fieldChanges, titleOf } from './changes.ts';

const event: AuditEvent = {
  id: '1',
  timestamp: '2026-01-01T00:00:00.000Z',
  event_type: 'UPDATE',
  target_id: '2',
  target_name: 'api',
  target_type: 'APPLICATION',
  sub_target_type: null,
  change: '{"id":"2","updated_at":"b","spec":{"memory":600,"ports":[{"internal_port":80}]},"description":""}',
  original_change:
    '{"id":"2","updated_at":"a","spec":{"memory":512,"ports":[{"internal_port":80},{"internal_port":81}]},"description":null}',
  origin: 'API',
  triggered_by: 'Ada',
  project_id: null,
  project_name: '',
  environment_id: null,
  environment_name: '',
  user_agent: null,
  address: null,
  operation: null,
};

test('a change names the fields that it set, and not those of every change', () => {
  expect(fieldChanges(event)).toEqual([
    { field: 'memory', before: '512', after: '600' },
    { field: 'ports.1.internal_port', before: '81', after: undefined },
  ]);
  expect(fieldChanges({ ...event, change: '{"cut' })).toHaveLength(3);
  expect(titleOf(event)).toBe('Settings changed');
  expect(titleOf({ ...event, event_type: 'CREATE' })).toBe('Application created');
});

test('a change of a variable names its key, also when it was deleted', () => {
  const variable = { ...event, sub_target_type: 'VARIABLE', event_type: 'DELETE', change: '' } as const;
  expect(titleOf({ ...variable, original_change: '{"key":"HOST"}' })).toBe('Variable HOST deleted');
});
