import { expect, test } from 'vitest';
import { MemoryState } from './terraform/testing.ts';
import { answerState } from './terraform-state.ts';

const lock = JSON.stringify({ ID: 'one', Who: 'me' });

test('a state is read, written, locked and unlocked', async () => {
  const store = new MemoryState();
  expect(await answerState(store, { method: 'GET', body: '' })).toEqual({ status: 204, body: null });
  expect(await answerState(store, { method: 'LOCK', body: lock })).toEqual({ status: 200, body: lock });
  expect(await answerState(store, { method: 'POST', body: '{"serial":1}' })).toEqual({ status: 200, body: null });
  expect(await answerState(store, { method: 'GET', body: '' })).toEqual({ status: 200, body: '{"serial":1}' });
  expect(await answerState(store, { method: 'LOCK', body: JSON.stringify({ ID: 'two' }) })).toEqual({ status: 423, body: lock });
  expect(await answerState(store, { method: 'UNLOCK', body: JSON.stringify({ ID: 'two' }) })).toMatchObject({ status: 409 });
  expect(await answerState(store, { method: 'UNLOCK', body: lock })).toMatchObject({ status: 200 });
});

test.each([
  ['LOCK', 'no JSON', 400],
  ['LOCK', '{"id":"one"}', 400],
  ['POST', null, 413],
  ['DELETE', '', 405],
] as const)('%s of %s is answered %i', async (method, body, status) => {
  const store = new MemoryState();
  expect(await answerState(store, { method, body })).toEqual({ status, body: null });
  expect(store.writes).toBe(0);
});
