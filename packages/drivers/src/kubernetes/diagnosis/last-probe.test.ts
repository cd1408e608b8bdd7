import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '@davit/testkit/certificate';
import { afterEach, expect, test } from 'vitest';
import { closeApi, openApi, type Api } from '../client/api.ts';
import { lastProbe } from './last-probe.ts';

const { pem } = await testCertificate('localhost');

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/**
 * Starts an API server that responds by the last word of the path: with a list of these objects, or with this status.
 */
async function serve(answers: Readonly<Record<string, readonly object[] | number>>): Promise<Api> {
  const server = https.createServer({ key: pem, cert: pem }, (request, response) => {
    const answer = answers[new URL(request.url ?? '', 'https://localhost').pathname.split('/').at(-1) ?? ''] ?? 404;
    if (typeof answer === 'number') {
      response.statusCode = answer;
      response.end(JSON.stringify({ message: 'no' }));
    } else response.end(JSON.stringify({ metadata: {}, items: answer }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo; // oxlint-disable-line typescript/no-unsafe-type-assertion -- it listens on TCP
  const api = openApi({ server: `https://127.0.0.1:${port}`, isUnchecked: true });
  const close = (): void => {
    closeApi(api);
    server.closeAllConnections();
    server.close();
  };
  closers.push(close);
  return api;
}

const pod = (status: 'True' | 'False', message?: string) => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  status: { conditions: [{ type: 'Ready', status, message }] },
});
const ask = (api: Api): Promise<string | null> =>
  lastProbe({ api, installation: 'i' }, { id: 'n/p' }, AbortSignal.timeout(10_000));

test('it tells what the kubelet found', async () => {
  expect(await ask(await serve({ pods: [pod('True')] }))).toBeNull();
  const events = [{ message: 'connection refused' }, { message: 'it answered 500' }];
  expect(await ask(await serve({ pods: [pod('False')], events }))).toBe('it answered 500');
  expect(await ask(await serve({ pods: [] }))).toBe('the instance is gone');
});

test('without the right to read events it tells what the pod says', async () => {
  const api = await serve({ pods: [pod('False', 'containers with unready status')], events: 403 });
  expect(await ask(api)).toBe('containers with unready status');
});

test('a cluster that does not answer, or refuses, says nothing of the instance', async () => {
  await expect(ask(await serve({ pods: 401 }))).rejects.toMatchObject({ code: 'CLUSTER_ACCESS_DENIED' });
  await expect(ask(await serve({ pods: 500 }))).rejects.toMatchObject({ code: 'ENGINE_FAILED', retryable: true });
  const gone = await serve({});
  closers.splice(0).forEach((close) => close());
  await expect(ask(gone)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
});
