import { once } from 'node:events';
import { createServer } from 'node:https';
import { testCertificate } from '@davit/testkit/certificate';
import { expect, test } from 'vitest';
import { closeApi, openApi } from '../client/api.ts';
import { readRevisions } from './revisions.ts';

test('revisions are read without what is in their Secrets', async () => {
  const { pem } = await testCertificate('localhost');
  const requested: string[] = [];
  const labels = (version: string) => ({ metadata: { labels: { version, status: 'deployed', 'davit.service': 's' } } });
  const server = createServer({ cert: pem, key: pem }, (request, response) => {
    requested.push(request.headers.accept ?? '');
    // An API server returns null if there are no objects.
    const items = request.url?.includes('helm-none') === true ? null : [labels('10'), labels('9')];
    response.end(JSON.stringify({ metadata: {}, items }));
  }).listen(0);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const api = openApi({ server: `https://localhost:${port}`, isUnchecked: true });
  const owner = { installation: 'i', organization: 'o', project: 'p', environment: 'e', service: 's' };
  const ids = { owner, release: 'helm-z1' };
  const revisions = await readRevisions({ api, installation: 'i' }, ids, AbortSignal.timeout(10_000));
  expect(await readRevisions({ api, installation: 'i' }, { owner, release: 'helm-none' }, AbortSignal.timeout(10_000))).toEqual(
    [],
  );
  closeApi(api);
  server.close();
  expect(revisions.map(({ revision }) => revision)).toEqual([9, 10]);
  expect(new Set(requested)).toEqual(new Set(['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io']));
});
