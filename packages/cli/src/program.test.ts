import { operations } from '@davit/contract';
import { expect, test } from 'vitest';
import { toInput } from './commands/api.ts';
import { secondsOf } from './command.ts';
import { nearest } from './nearest.ts';
import { addressOf } from './cli.ts';

test('words after an operation are ids of its path and parameters of its query', () => {
  const known = { serviceId: 'linked' };
  expect(toInput(operations.searchServiceLog, ['text=a=b', 'limit=5'], known)).toEqual({
    params: { serviceId: 'linked' },
    query: { text: 'a=b', limit: '5' },
  });
  expect(toInput(operations.searchServiceLog, ['serviceId=other'], known).params).toEqual({ serviceId: 'other' });
  expect(() => toInput(operations.searchServiceLog, [], {})).toThrow('needs serviceId=');
  expect(() => toInput(operations.searchServiceLog, ['txt=a'], known)).toThrow('has no parameter txt');
});

test('durations, addresses of servers and near words are understood', () => {
  expect(['90', '30s', '15m', '2h', '7d'].map(secondsOf)).toEqual([90, 30, 900, 7200, 604_800]);
  expect(() => secondsOf('soon')).toThrow('no duration');
  expect(addressOf('davit.example.org/')).toBe('https://davit.example.org');
  expect(addressOf('127.0.0.1:4440')).toBe('http://127.0.0.1:4440');
  expect(() => addressOf('http://')).toThrow('no address');
  expect(nearest('wbe', ['api', 'web', 'worker'])).toEqual(['web']);
  expect(nearest('database', ['api'])).toEqual([]);
});
