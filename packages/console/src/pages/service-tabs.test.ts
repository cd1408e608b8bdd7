import { expect, test, vi } from 'vitest';
import type { Service } from '../words.ts';
import { hasTab } from './service-tabs.tsx';

vi.mock('../api.ts', () => ({ api: () => ({}) }));

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only the kind is read
const service = (type: Service['service_type']): Service => ({ service_type: type }) as Service;

test('an address that names a page of another kind of service does not wait for it for ever', () => {
  const tabs = ['', 'logs', 'settings', 'domains', 'connection', 'backups', 'runs'];
  const tabsOf = (type: Service['service_type']): string[] => tabs.filter((tab) => hasTab(service(type), tab));
  expect(tabsOf('DATABASE')).toEqual(['', 'logs', 'settings', 'connection', 'backups']);
  expect(tabsOf('JOB')).toEqual(['', 'logs', 'settings', 'runs']);
  expect(tabsOf('CONTAINER')).toEqual(['', 'logs', 'settings', 'domains']);
});
