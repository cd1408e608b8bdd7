import { expect, test } from 'vitest';
import { fuzz } from './testing/fuzz.ts';

// The same requests each time, so that whoever changes something meets their own faults. Others come in the nightly run.
test('2,000 requests, right and wrong, get documented answers', { timeout: 240_000 }, async () => {
  const run = await fuzz({ seed: 20_261_121, requests: 2000, seconds: 220 });
  expect(run.sent).toBe(2000);
  // Not only refusals: what is right gets through to the rules.
  for (const status of [200, 201, 202, 204, 400, 401, 403, 404, 409, 412, 415])
    expect(run.statuses.get(status)).toBeGreaterThan(0);
});
