import { expect, test } from 'vitest';
import { countTests, failures, slowestFiles, type TestReport } from './test-counts.ts';

const report = (change: Partial<TestReport>): TestReport => ({
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ name: 'a.test.ts', status: 'passed', assertionResults: [{ status: 'passed', fullName: 'adds' }] }],
  ...change,
});

test('passed, failed and skipped tests are counted', () => {
  expect(countTests(report({}), true)).toEqual({ passed: 3, failed: 0, skipped: 0 });
  const mixed = report({ numFailedTests: 2, numPendingTests: 1, numTodoTests: 1 });
  expect(countTests(mixed, false)).toEqual({ passed: 3, failed: 2, skipped: 2 });
});

test('a file that could not be loaded is a failure', () => {
  const broken = report({ testResults: [{ name: 'a.test.ts', status: 'failed', assertionResults: [] }] });
  expect(countTests(broken, false)).toMatchObject({ failed: 1 });
});

test('a run without a report, without tests, or that failed for another reason is a failure', () => {
  expect(countTests(undefined, true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countTests(report({ numPassedTests: 0, testResults: [] }), true)).toMatchObject({ failed: 1 });
  expect(countTests(report({}), false)).toEqual({ passed: 3, failed: 1, skipped: 0 });
});

test('what failed is named with why, a file that could not be loaded too', () => {
  const long = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
  const some = report({
    testResults: [
      {
        name: '/house/tools/a.test.ts',
        status: 'failed',
        assertionResults: [
          { status: 'passed', fullName: 'adds' },
          { status: 'failed', fullName: 'divides', failureMessages: [long] },
        ],
      },
      { name: '/house/b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] },
    ],
  });
  const [divides, b, ...others] = failures(some, '/house');
  expect(divides?.name).toBe('tools/a.test.ts: divides');
  expect(divides?.message).toMatch(/^ {4}line 0\n/);
  expect(divides?.message.split('\n').length).toBeLessThan(20);
  expect(b).toEqual({ file: 'b.test.ts', name: 'b.test.ts', message: '    no such module' });
  expect(others).toEqual([]);
  expect(failures(report({}), '/house')).toEqual([]);
  expect(failures(undefined, '/house')).toEqual([]);
});

test('the slowest files come first, and no more than are asked for', () => {
  const file = (name: string, endTime: number) => ({ name, status: 'passed', assertionResults: [], startTime: 1_000, endTime });
  const reports = [report({ testResults: [file('a', 2_500), file('b', 4_000)] }), report({ testResults: [file('c', 3_000)] })];
  expect(slowestFiles(reports, 2)).toEqual([
    { name: 'b', seconds: 3 },
    { name: 'c', seconds: 2 },
  ]);
});
