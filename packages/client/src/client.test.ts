import { expect, test } from 'vitest';
import { createClient } from './client.ts';

test('an edit names the version of the record that its caller knows', async () => {
  const sent: (string | null)[] = [];
  const send: typeof fetch = (_input, init) => {
    sent.push(new Headers(init?.headers).get('if-match'));
    return Promise.resolve(new Response(null, { status: 204 }));
  };
  const client = createClient({ baseUrl: 'http://davit.test', fetch: send });
  const params = { variableId: 'a' };
  await client.call('deleteVariable', { params, ifUpdatedAt: '2026-01-01T00:00:00.000Z' });
  await client.call('deleteVariable', { params });
  expect(sent).toEqual(['"2026-01-01T00:00:00.000Z"', null]);
});
