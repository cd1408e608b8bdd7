import { expect, test } from 'vitest';
import { declaredStatements, statement } from './statement.ts';

test('a second statement of the same name is refused when it is declared', () => {
  statement('statementTestOnce', 'select 1');
  expect(() => statement('statementTestOnce', 'select 2')).toThrow('two statements named "statementTestOnce"');
});

test('a name that PostgreSQL would cut is refused', () => {
  expect(() => statement('n'.repeat(64), 'select 1')).toThrow('1 to 63 bytes');
  expect(() => statement('', 'select 1')).toThrow('1 to 63 bytes');
});

test('a declared statement cannot be changed and is listed', () => {
  const declared = statement('statementTestFrozen', '  select 1\n');
  expect(declared.text).toBe('select 1');
  expect(Object.isFrozen(declared)).toBe(true);
  expect(declaredStatements()).toContain(declared);
});
