import { expect, test } from 'vitest';
import { declaredStatements, statement } from './statement.ts';

test('a second statement of the same name is refused when it is declared', () => {
  statement('statement_test_once', 'select 1');
  expect(() => statement('statement_test_once', 'select 2')).toThrow('two statements named "statement_test_once"');
});

test.each(['n'.repeat(64), '', 'serviceRead', 'service-read', 'service_', '_service'])(
  'a name that PostgreSQL would cut, or that is not written as names in SQL are, is refused: %j',
  (name) => {
    expect(() => statement(name, 'select 1')).toThrow('is not a name such as service_read');
  },
);

test('a declared statement cannot be changed and is listed', () => {
  const declared = statement('statement_test_frozen', '  select 1\n');
  expect(declared.text).toBe('select 1');
  expect(Object.isFrozen(declared)).toBe(true);
  expect(declaredStatements()).toContain(declared);
});
