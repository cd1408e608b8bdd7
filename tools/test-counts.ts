import path from 'node:path';

/** The parts of vitest's JSON report that are counted here. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Time when the first test began and the last one ended, in milliseconds since 1970. */
    readonly startTime?: number;
    readonly endTime?: number;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Counts the tests of a run. Failures outside of tests count as one failure each:
 * - a file that could not be loaded or whose set-up failed,
 * - a run without a report or without a single test,
 * - any other reason for which vitest exited with an error.
 */
export function countTests(report: TestReport | undefined, isGood: boolean): Counts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const passed = report.numPassedTests;
  const skipped = report.numPendingTests + report.numTodoTests;
  const failed = report.numFailedTests + brokenFiles;
  const isUnexplained = failed === 0 && (!isGood || passed + skipped === 0);
  return { passed, failed: isUnexplained ? 1 : failed, skipped };
}

export interface Failure {
  /** The path relative to the root of the repository. */
  readonly file: string;
  /** The name as `file: test`, or the file alone if it could not be loaded. */
  readonly name: string;
  /** The first lines of the failure message, indented. */
  readonly message: string;
}

/** Returns the failures; empty if nothing failed or there is no report. File names are relative to `root`. */
export function failures(report: TestReport | undefined, root: string): Failure[] {
  return (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const file = path.relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) return [{ file, name: file, message: excerpt(message ?? '') }];
    return failed.map(({ fullName, failureMessages }) => ({
      file,
      name: `${file}: ${fullName}`,
      message: excerpt((failureMessages ?? []).join('\n')),
    }));
  });
}

/** Returns the slowest files, slowest first. A file that was part of several runs is listed once for each. */
export function slowestFiles(
  reports: readonly TestReport[],
  count: number,
): { readonly name: string; readonly seconds: number }[] {
  return reports
    .flatMap(({ testResults }) => testResults)
    .map(({ name, startTime = 0, endTime = 0 }) => ({ name, seconds: (endTime - startTime) / 1_000 }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, count);
}

/**
 * Number of lines shown per failure. They cover the stack frames in our own files; the test runner's frames below are
 * useless.
 */
const shownLines = 8;

function excerpt(message: string): string {
  const lines = message.split('\n').map((line) => `    ${line}`);
  return lines.slice(0, shownLines).join('\n');
}
