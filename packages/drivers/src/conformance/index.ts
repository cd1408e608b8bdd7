import { failureTests } from './failure.ts';
import { endTests, lifeTests } from './life.ts';
import { logTests } from './logs.ts';
import { metricTests } from './metrics.ts';
import { removalTests } from './removal.ts';
import { type ConformanceSubject, ConformanceSetup, type Suite, type Test } from './setup.ts';
import { scaleTests, startTests } from './start.ts';

export type { Behaviour, ConformanceSubject } from './setup.ts';

/**
 * Declares the tests that every `ClusterDriver` must pass; call it inside a test file. Each test has its own
 * installation and removes it.
 */
export function conformsToClusterDriver(name: string, suite: Suite, subject: () => ConformanceSubject): void {
  const test: Test = (sentence, body) => {
    suite.it(sentence, async () => {
      const setup = await ConformanceSetup.open(subject());
      try {
        await body(setup);
      } finally {
        await setup.close();
      }
    });
  };
  suite.describe(`${name} as a cluster driver`, () => {
    startTests(test, suite.expect, subject);
    scaleTests(test, suite.expect);
    failureTests(test, suite.expect);
    lifeTests(test, suite.expect);
    endTests(test, suite.expect);
    removalTests(test, suite.expect, subject);
    logTests(test, suite.expect);
    metricTests(test, suite.expect, subject);
  });
}
