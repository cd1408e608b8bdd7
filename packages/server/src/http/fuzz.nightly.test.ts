import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { fuzz } from './testing/fuzz.ts';

const wholeNumber = (name: string, byDefault: number): number => Number(process.env[name] ?? byDefault);

// Each run sends other requests; DAVIT_FUZZ_SEED repeats those of an earlier run.
test('50,000 requests, right and wrong, get documented answers', async () => {
  const seed = wholeNumber('DAVIT_FUZZ_SEED', randomInt(2 ** 31));
  const requests = wholeNumber('DAVIT_FUZZ_REQUESTS', 50_000);
  console.log(`DAVIT_FUZZ_SEED=${seed} DAVIT_FUZZ_REQUESTS=${requests} npm run test:nightly`);
  const run = await fuzz({ seed, requests, seconds: 1500 });
  console.log(Object.fromEntries(run.statuses));
  expect(run.sent).toBe(requests);
});
