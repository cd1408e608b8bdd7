import { expect, test } from 'vitest';
import { isAtLeast, levelOf } from './level.ts';

test.each([
  ['{"level":"warn","msg":"slow"}', 'WARNING'],
  ['{"time":1,"severity": "ERROR","message":"x"}', 'ERROR'],
  ['{"level":30,"msg":"an error in words"}', 'INFO'],
  ['{"level":50}', 'ERROR'],
  ['{"level":3}', 'ERROR'],
  ['{"msg":"ERROR"}', null],
  ['time=2026-01-01 level=debug msg="ERROR"', 'DEBUG'],
  ['2026-01-01T00:00:00Z INFO  [main] started', 'INFO'],
  ['[error] connection closed', 'ERROR'],
  ['npm warn: old package', 'WARNING'],
  ['\u001B[31mFATAL\u001B[0m out of memory', 'ERROR'],
  ['E1126 12:00:01.123456       1 main.go:7] failed', 'ERROR'],
  ['no error was found', null],
  ['INFORMATIONAL text', null],
  ['10.0.0.1 - - [01/Jan/2026] "GET /error HTTP/1.1" 500', null],
  ['', null],
])('the level of the line %s is %s', (message, level) => {
  expect(levelOf(message)).toBe(level);
});

test('a level selects lines that are at least as severe, and none without a level', () => {
  expect(['ERROR a', 'WARN b', 'INFO c', 'd'].filter((line) => isAtLeast(line, 'WARNING'))).toEqual(['ERROR a', 'WARN b']);
});
