import { expect, test } from 'vitest';
import { MarkedMemory } from './marked-memory.ts';

test('a value is returned as long as its mark is the same', () => {
  const memory = new MarkedMemory<string>(10, () => 0);
  memory.set('shop', '1', 'red');
  expect(memory.get('shop', '1')).toBe('red');
  expect(memory.get('shop', '2')).toBeUndefined();
  expect(memory.get('bakery', '1')).toBeUndefined();
  memory.set('shop', '2', 'blue');
  expect([memory.get('shop', '1'), memory.get('shop', '2')]).toEqual([undefined, 'blue']);
  memory.forget('shop');
  expect(memory.get('shop', '2')).toBeUndefined();
});

test('values that were not used for the longest time make room', () => {
  const memory = new MarkedMemory<string>(10, (text) => text.length);
  memory.set('a', '1', 'xxxx');
  memory.set('b', '1', 'xxxx');
  memory.get('a', '1');
  memory.set('c', '1', 'xxxx');
  expect(['a', 'b', 'c'].map((id) => memory.get(id, '1'))).toEqual(['xxxx', undefined, 'xxxx']);
  memory.set('d', '1', 'x'.repeat(20));
  expect(['a', 'c', 'd'].map((id) => memory.get(id, '1'))).toEqual([undefined, undefined, undefined]);
});
