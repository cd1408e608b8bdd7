import { expect, test } from 'vitest';
import { countTests, type TestReport } from './test-counts.ts';

const report = (change: Partial<TestReport>): TestReport => ({
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 0,
  numTodoTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
  ...change,
});

test('passed, failed and skipped tests are counted', () => {
  expect(countTests(report({}), true)).toEqual({ passed: 3, failed: 0, skipped: 0 });
  const mixed = report({ numFailedTests: 2, numPendingTests: 1, numTodoTests: 1 });
  expect(countTests(mixed, false)).toEqual({ passed: 3, failed: 2, skipped: 2 });
});

test('a file that could not be loaded is a failure', () => {
  const broken = report({ testResults: [{ status: 'failed', assertionResults: [] }] });
  expect(countTests(broken, false)).toMatchObject({ failed: 1 });
});

test('a run without a report, without tests, or that failed for another reason is a failure', () => {
  expect(countTests(undefined, true)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  expect(countTests(report({ numPassedTests: 0, testResults: [] }), true)).toMatchObject({ failed: 1 });
  expect(countTests(report({}), false)).toEqual({ passed: 3, failed: 1, skipped: 0 });
});
