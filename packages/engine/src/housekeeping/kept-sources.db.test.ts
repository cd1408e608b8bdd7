import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KeptSources } from '@davit/drivers';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';
import { tidySources } from './kept-sources.ts';

let fixture: TestEngine;
beforeEach(async () => {
  fixture = await createTestEngine();
});
afterEach(() => fixture.close());

test('objects of organizations without services are removed, and the rest is tidied', async () => {
  const shop = service();
  await fixture.deploy([shop]);
  await eventually(async () => ((await fixture.view(shop.serviceId)).state === 'DEPLOYED' ? true : undefined), 'DEPLOYED');
  const { organizationId } = fixture.environment;
  const folders = new Set([organizationId, randomUUID(), 'lost+found']);
  let tidied = 0;
  const kept: KeptSources = {
    bytes: () => Promise.resolve(0),
    organizations: () => Promise.resolve([...folders]),
    forget: (organization) => Promise.resolve(void folders.delete(organization)),
    tidy: () => Promise.resolve(void (tidied += 1)),
  };
  const { fake } = fixture;
  const drivers = { fake: { ...fake, source: { ...fake.source, kept } } };
  await tidySources({ database: fixture.database.database, drivers }, new AbortController().signal);
  expect([...folders]).toEqual([organizationId, 'lost+found']);
  expect(tidied).toBe(1);
});
