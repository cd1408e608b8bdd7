import { afterEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { clusterScaling } from './scaling.ts';

const signal = new AbortController().signal;
let testApi: TestApi;
afterEach(() => testApi.close());

/** Starts a cluster on which some APIs respond with 503, and all others with success. */
async function without(api: RegExp) {
  testApi = await startTestApi(({ url = '' }, response) => {
    const status = api.test(url) ? 503 : 200;
    response.writeHead(status, { 'retry-after': '0' }).end(JSON.stringify({ message: 'unavailable', status: { allowed: true } }));
  });
  return clusterScaling({ api: testApi.api, installation: 'i' });
}

test('a metrics server that is away is missing; a cluster that is away is not one that lacks something', async () => {
  expect(await (await without(/metrics\.k8s\.io/)).missing('USE', signal)).toEqual(['a metrics server (metrics.k8s.io)']);
  testApi.close();
  const away = await without(/./);
  for (const by of ['USE', 'EVENTS'] as const)
    await expect(away.missing(by, signal)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
});
