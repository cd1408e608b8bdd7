import { operations } from '@davit/contract';
import { expect, test } from 'vitest';
import { toInput } from './commands/api.ts';
import { secondsOf } from './command.ts';
import { nearest } from './nearest.ts';
import { addressOf } from './cli.ts';
import { failureIn } from './commands/status.ts';
import { pauseOf, PrintedLines } from './follow.ts';
import { deployBody } from './kinds.ts';
import { webAddress } from './open-address.ts';

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

test('a version that no service can have is refused, not left out', () => {
  const api = { id: 'a', name: 'api', type: 'APPLICATION' } as const;
  const cache = { id: 'c', name: 'cache', type: 'CONTAINER' } as const;
  expect(deployBody([api, cache], { commit: '3f1c0aa' })).toMatchObject({
    applications: [{ application_id: 'a', git_commit_id: '3f1c0aa' }],
    containers: [{ id: 'c' }],
  });
  expect(() => deployBody([api], { tag: 'v2' })).toThrow('--tag has no effect here: api is an application.');
  expect(() => deployBody([cache], { chart: '1.2.3' })).toThrow('--chart-version has no effect');
});

test('a deployment that is not in the history is reported as unknown, not as one that worked', () => {
  expect(failureIn('api', [], undefined)).toBeUndefined();
  expect(() => failureIn('api', [], 318)).toThrow('api has no deployment 318.');
});

test('a line of a log is printed once, in whatever order the lines of services come, and as often as it was logged', () => {
  const lines = new PrintedLines();
  const sent = ['10:02 api', '10:01 web', '10:01 web'];
  expect(sent.map((line) => lines.isNew(line))).toEqual([true, true, true]);
  lines.repeat();
  expect([...sent, '10:01 web', '10:03 api'].map((line) => lines.isNew(line))).toEqual([false, false, false, true, true]);
});

test('a wait of months does not end at once', () => {
  expect(pauseOf(90)).toBe(90_000);
  expect(pauseOf(secondsOf('60d'))).toBeGreaterThan(24 * 86_400_000);
});

test('only addresses of the web are opened, and nothing in them is a command', () => {
  expect(webAddress('https://davit.example.org/device#ABCD-EFGH')).toBe('https://davit.example.org/device#ABCD-EFGH');
  for (const other of ['file:///etc/passwd', '--version', 'calc.exe', 'javascript:alert(1)'])
    expect(webAddress(other)).toBeNull();
  expect(webAddress('https://a.example.org/"|x y')).not.toMatch(/["\s]/);
});
