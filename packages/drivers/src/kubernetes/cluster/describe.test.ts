import { afterEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import { askVersion, describeCluster, identityOf, pingCluster } from './describe.ts';

const signal = new AbortController().signal;
let testApi: TestApi;
afterEach(() => testApi.close());

async function serve(status = 200): Promise<readonly string[]> {
  const requested: string[] = [];
  const version = { gitVersion: 'v1.36.2', major: '1', minor: '36' };
  const allocatable = { cpu: '4', memory: '8Gi' };
  testApi = await startTestApi(({ url = '' }, response) => {
    requested.push(url);
    response.writeHead(status, { 'retry-after': '0' });
    response.end(JSON.stringify(url === '/version' ? version : { metadata: {}, items: [{ status: { allocatable } }] }));
  });
  return requested;
}

test.each([200, 403, 404])('whether a cluster answers (%i) is asked without a list of its nodes', async (status) => {
  const requested = await serve(status);
  await pingCluster(testApi.api, signal);
  expect(requested).toEqual(['/api/v1/namespaces/default']);
});

test('a cluster that takes no credentials says so when it is asked whether it answers', async () => {
  await serve(401);
  await expect(pingCluster(testApi.api, signal)).rejects.toMatchObject({ code: 'CLUSTER_ACCESS_DENIED' });
});

test.each([502, 503, 504])('a cluster whose server says %i, and can do nothing, does not answer', async (status) => {
  const requested = await serve(status);
  await expect(pingCluster(testApi.api, signal)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
  expect(requested).toHaveLength(3);
});

test('how large a cluster is, is read from what the server has in memory', async () => {
  const requested = await serve();
  const description = await describeCluster(testApi.api, signal);
  expect(description).toMatchObject({ version: '1.36.2', cpuMillicores: 4_000, memoryMiB: 8_192 });
  expect(requested.toSorted()).toEqual(['/api/v1/nodes?resourceVersion=0', '/version']);
});

test('a cluster is told from others by a namespace of its own, where that may be seen', async () => {
  let status = 200;
  testApi = await startTestApi((_request, response) => {
    response.writeHead(status).end(JSON.stringify(status === 200 ? { metadata: { uid: 'one' } } : { message: 'forbidden' }));
  });
  expect(await identityOf(testApi.api, signal)).toBe('one');
  status = 403;
  expect(await identityOf(testApi.api, signal)).toBeNull();
});

test('what answers with something else than a version is no API server', async () => {
  testApi = await startTestApi((_request, response) => response.end('<html>Sign in</html>'));
  await expect(askVersion(testApi.api, signal)).rejects.toMatchObject({ code: 'CLUSTER_ACCESS_INVALID' });
});
