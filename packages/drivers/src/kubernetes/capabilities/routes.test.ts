import { expect, test } from 'vitest';
import type { ChartService } from '../../helm-driver.ts';
import { withName } from './routes.ts';

const web: ChartService = {
  name: 'web',
  type: 'ClusterIP',
  ports: [{ name: 'http', port: 80 }],
  selectors: { app: 'shop', tier: 'web' },
};
const api: ChartService = { ...web, name: 'api', selectors: { app: 'shop', tier: 'api' } };
const admin: ChartService = { ...api, name: 'admin', ports: [{ name: null, port: 9_000 }] };
const services = [web, api, admin];
const routeTo = (to: { name: string } | { selectors: Record<string, string> }, internalPort = 80) => ({
  id: 'port',
  hosts: ['shop.example.org'],
  pathPrefix: '/',
  internalPort,
  to: { release: 'helm-z1', ...to },
});

test.each([
  ['its name', { name: 'web' }, 80, 'web'],
  ['what it selects', { selectors: { tier: 'web' } }, 80, 'web'],
  ['what it selects, and its port where others select the same', { selectors: { tier: 'api' } }, 9_000, 'admin'],
] as const)('a Service of the chart is found by %s', (_, to, port, name) => {
  expect(withName(routeTo(to, port), services).to).toEqual({ release: 'helm-z1', name });
});

test('one without an address of its own beside it leads to the same pods', () => {
  const headless = { ...web, name: 'web-headless' };
  expect(withName(routeTo({ selectors: { tier: 'web' } }), [web, headless]).to).toEqual({ release: 'helm-z1', name: 'web' });
});

test.each([
  ['no Service called wep', { name: 'wep' }, 80],
  ['no port 81; it has 80', { name: 'web' }, 81],
  ['no Service that selects tier=db', { selectors: { tier: 'db' } }, 80],
  ['several Services that select app=shop with port 80: web, api', { selectors: { app: 'shop' } }, 80],
] as const)('where there is %s, that is told', (words, to, port) => {
  expect(() => withName(routeTo(to, port), services)).toThrow(words);
});
