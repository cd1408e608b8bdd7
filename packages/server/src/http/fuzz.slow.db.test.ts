import { expect, test } from 'vitest';
import { fuzz } from './testing/fuzz.ts';

// Each run sends the same requests, so that a failure is caused by the change under test. The nightly run varies them.
test('2,000 requests, right and wrong, get documented answers', { timeout: 240_000 }, async () => {
  const run = await fuzz({ seed: 20_261_121, requests: 2000, seconds: 220 });
  expect(run.sent).toBe(2000);
  // Not all requests are refused: valid ones reach the rules.
  for (const status of [200, 201, 202, 204, 400, 401, 403, 404, 409, 412, 415])
    expect(run.statuses.get(status)).toBeGreaterThan(0);
});
