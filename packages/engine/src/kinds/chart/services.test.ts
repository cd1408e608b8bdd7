import { DriverError } from '@davit/drivers';
import { expect, test } from 'vitest';
import { readChartServices } from './services.ts';

/** Reads the Services of a chart on a cluster that responds with `read`. */
function services(read: () => Promise<never>) {
  const parts = {
    drivers: { east: { cluster: { charts: { services: read } } } },
    clusters: { know: () => Promise.resolve() },
    settings: { installation: 'i' },
  };
  const runtime = { driver: 'east', desired: 'RUNNING', service_id: '0191-0000' };
  const database = { many: () => Promise.resolve([runtime]) };
  // @ts-expect-error -- the rest of both is not looked at
  return readChartServices(parts, database, 's');
}

test('a cluster that does not answer, or refuses, is said to be that', async () => {
  const away = new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'The API server does not answer.', retryable: true });
  await expect(services(() => Promise.reject(away))).rejects.toMatchObject({ code: 'CLUSTER_UNREACHABLE', cause: away });
  const bug = new TypeError('x is not a function');
  await expect(services(() => Promise.reject(bug))).rejects.toBe(bug);
});
