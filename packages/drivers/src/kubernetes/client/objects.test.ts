import { afterEach, expect, test } from 'vitest';
import { label } from '../names/labels.ts';
import { startTestApi, type TestApi } from '../testing/api-server.ts';
import type { KubernetesObject } from './api.ts';
import { apply } from './objects.ts';

/* Objects that are created while one of the same name is being deleted. */

const signal = new AbortController().signal;
const installation = 'i';
const metadata = { name: 'shop', namespace: 'davit-1', labels: { [label.installation]: installation } };
const ingress = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata };
const leaving = {
  ...ingress,
  metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['ingress.k8s.aws/resources'] },
};

const apis: TestApi[] = [];
afterEach(() => apis.splice(0).forEach(({ close }) => close()));

/**
 * Responds to reads with the objects of `found` in turn, repeating the last one, and to a change with the body that it
 * received.
 */
async function serve(
  found: readonly (KubernetesObject | null)[],
  changed: readonly KubernetesObject[] = [],
): Promise<{ readonly scope: { api: TestApi['api']; installation: string }; readonly methods: string[] }> {
  const methods: string[] = [];
  const count = (one: string): number => methods.filter((method) => method === one).length;
  const testApi = await startTestApi(({ method = '' }, response) => {
    methods.push(method);
    const index = count(method) - 1;
    const object = method === 'GET' ? found[Math.min(index, found.length - 1)] : (changed[index] ?? ingress);
    response.writeHead(object === null ? 404 : 200).end(JSON.stringify(object ?? {}));
  });
  apis.push(testApi);
  return { scope: { api: testApi.api, installation }, methods };
}

test('an object is not written to one that is being deleted, but made when that is gone', async () => {
  const { scope, methods } = await serve([leaving, leaving, null]);
  expect(await apply(scope, ingress, signal)).toEqual(ingress);
  expect(methods).toEqual(['GET', 'GET', 'GET', 'PATCH']);
});

test('one whose deletion began as it was written to is made again', async () => {
  const { scope, methods } = await serve([ingress, null], [leaving]);
  expect(await apply(scope, ingress, signal)).toEqual(ingress);
  expect(methods).toEqual(['GET', 'PATCH', 'GET', 'PATCH']);
});

test('what does not go fails, with what holds it, and may be tried again', async () => {
  const { scope, methods } = await serve([leaving]);
  await expect(apply(scope, ingress, signal, 50)).rejects.toMatchObject({
    code: 'ENGINE_FAILED',
    retryable: true,
    message: expect.stringMatching(/Ingress shop in namespace davit-1 .*ingress\.k8s\.aws\/resources/),
    hint: expect.stringContaining('Deploy again'),
  });
  expect(methods).not.toContain('PATCH');
});

test('what somebody else made is not waited for, though it is leaving', async () => {
  const { scope, methods } = await serve([{ ...leaving, metadata: { ...leaving.metadata, labels: {} } }]);
  await expect(apply(scope, ingress, signal)).rejects.toMatchObject({ message: expect.stringContaining('did not create') });
  expect(methods).toEqual(['GET']);
});
