import { expect, test } from 'vitest';
import { leadsToLink } from '../location.ts';
import { targetNames } from './target.ts';

const named = (name: string) => ({ id: `id of ${name}`, name });
const link = { organization: named('Acme'), project: named('shop'), environment: named('production') };
const nothing = { json: false, quiet: false };
const where = (flags: object, variables = {}, linked: typeof link | null = link): string =>
  targetNames({ environment: variables }, linked, { ...nothing, ...flags }, 'web').join('/');

test('a folder is deployed where flags and variables say, not where it is linked to', () => {
  const leads = (flags: object, environment = {}): boolean => leadsToLink({ environment }, link, { ...nothing, ...flags });
  expect(leads({})).toBe(true);
  expect(leads({ environment: 'Shop/production', organization: 'acme' })).toBe(true);
  expect(leads({ environment: 'id of production' })).toBe(true);
  expect(leads({ environment: 'staging' })).toBe(false);
  expect(leads({ environment: 'warehouse/production' })).toBe(false);
  expect(leads({ project: 'warehouse' })).toBe(false);
  expect(leads({ organization: 'other' })).toBe(false);
  expect(leads({}, { DAVIT_ENVIRONMENT: 'staging' })).toBe(false);
  expect(leads({ environment: 'production' }, { DAVIT_ENVIRONMENT: 'staging' })).toBe(true);
});

test('a new service is made in the environment of the link, otherwise in a project of its own', () => {
  expect(where({})).toBe('shop/production');
  expect(where({ environment: 'staging' })).toBe('shop/staging');
  expect(where({}, { DAVIT_ENVIRONMENT: 'warehouse/staging' })).toBe('warehouse/staging');
  expect(where({ project: 'warehouse' })).toBe('warehouse/production');
  expect(where({ organization: 'Other' })).toBe('web/production');
  expect(where({}, {}, null)).toBe('web/production');
});
