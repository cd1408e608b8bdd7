import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import { createFakeCluster } from '@davit/drivers';
import { createEngine } from '@davit/engine';
import type { Client } from '@davit/client';
import { testCertificate } from '@davit/testkit/certificate';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { kubernetesClusters } from './kubernetes-clusters.ts';

/* The state of a cluster that the API returns, with the real driver and a fake Kubernetes API server. */

let apiServer: Server;
let authority: string;
let server: TestServer;
let client: Client;
let params: { organizationId: string; clusterId: string };

/** The state of the fake API server. */
let known: {
  readonly token: string;
  readonly refused: string | null;
  readonly seesNodes: boolean;
  readonly uid: string;
  readonly isPage: boolean;
};

beforeAll(async () => {
  const { certificate, pem } = await testCertificate('localhost');
  authority = certificate;
  apiServer = createServer({ cert: pem, key: pem }, (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (known.isPage) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    if (path === '/version') return answer(200, { gitVersion: 'v1.36.2', major: '1', minor: '36' });
    if (request.headers.authorization !== `Bearer ${known.token}`) return answer(401, { message: 'Unauthorized' });
    if (path === '/api/v1/namespaces/kube-system') return answer(200, { metadata: { name: 'kube-system', uid: known.uid } });
    if (path === '/api/v1/nodes' && !known.seesNodes) return answer(403, { message: 'nodes is forbidden' });
    if (path === '/api/v1/nodes') {
      return answer(200, { metadata: {}, items: [{ spec: {}, status: { allocatable: { cpu: '4', memory: '8Gi' } } }] });
    }
    if (path === '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews') {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => answer(201, { status: { allowed: known.refused === null || !text.includes(known.refused) } }));
      return;
    }
    answer(404, { message: 'there is no such thing' });
  });
  await new Promise<void>((listening) => apiServer.listen(0, '127.0.0.1', listening));
  const local = createFakeCluster();
  server = await startTestServer({
    engine: (parts) =>
      createEngine({
        ...parts,
        drivers: { docker: local },
        makeCluster: kubernetesClusters({ localEngine: true, clusterSettings: {} }, parts.settings.installation),
      }),
  });
  await server.api.engine.start();
  client = server.client();
});
afterAll(async () => {
  await server.api.engine.stop();
  await server.close();
  apiServer.closeAllConnections();
  await new Promise((closed) => apiServer.close(closed));
});
beforeEach(async () => {
  // The clusters of earlier tests are still polled, so each test has its own credentials.
  known = { token: `good-${randomUUID()}`, refused: null, seesNodes: true, uid: randomUUID(), isPage: false };
  const { id: organizationId } = await server.organization();
  const body = { name: 'rack', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
  params = { organizationId, clusterId: (await client.call('createCluster', { params: { organizationId }, body })).id };
});

const port = (): number => {
  const address = apiServer.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
};

function kubeconfig(token: string, url = `https://localhost:${port()}`): string {
  const ca = Buffer.from(authority).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: url, 'certificate-authority-data': ca } }],
    users: [{ name: 'u', user: { token } }],
  });
}

/** Deploys the cluster with this kubeconfig. Returns its status and the newest line of its log. */
async function reported(text: string): Promise<readonly [string | undefined, string | undefined]> {
  await client.call('editClusterKubeconfig', { params, body: text });
  await client.call('deployCluster', { params });
  const { status } = await client.call('getClusterStatus', { params });
  const [line] = (await client.call('listClusterLogs', { params })).results.toReversed();
  return [status, line?.message?.safe_message];
}

test('a cluster that takes the credentials is deployed, and says what it has', async () => {
  expect(await reported(kubeconfig(known.token))).toEqual([
    'DEPLOYED',
    'The cluster answers: kubernetes 1.36.2, 4000 millicores, 8192 MiB.',
  ]);
});

test('credentials that it does not know are told as such, and other ones are used at once', async () => {
  const [status, message] = await reported(kubeconfig('stale'));
  expect([status, message]).toEqual(['INVALID_CREDENTIALS', expect.stringContaining('Unauthorized')]);
  expect(message).not.toContain('stale');
  expect((await reported(kubeconfig(known.token)))[0]).toBe('DEPLOYED');
});

test('a kubeconfig that Davit does not work with is told as such', async () => {
  const [status, message] = await reported(kubeconfig(known.token, `http://localhost:${port()}`));
  expect([status, message]).toEqual(['INVALID_CREDENTIALS', expect.stringMatching(/https[^.]*\.$/)]);
});

test('a permission that is missing is named', async () => {
  known = { ...known, refused: '"resource":"ingresses"' };
  const [status, message] = await reported(kubeconfig(known.token));
  expect(status).toBe('DEPLOYMENT_ERROR');
  expect(message).toContain('create ingresses.networking.k8s.io');
  expect((await client.call('getClusterReadinessStatus', { params })).is_ready).toBe(false);
});

test('a cluster that is not there is no matter of its credentials', async () => {
  const [status, message] = await reported(kubeconfig(known.token, 'https://127.0.0.1:1'));
  expect([status, message]).toEqual(['DEPLOYMENT_ERROR', expect.stringContaining('does not answer')]);
});

test('an account that was given no role is told what it lacks, and not that it is a wrong one', async () => {
  known = { ...known, refused: '"resource":"nodes"', seesNodes: false };
  const [status, message] = await reported(kubeconfig(known.token));
  expect([status, message]).toEqual(['DEPLOYMENT_ERROR', expect.stringContaining('list nodes')]);
});

test('something else that answers in place of an API server is no cluster that is away', async () => {
  known = { ...known, isPage: true };
  const [status, message] = await reported(kubeconfig(known.token));
  expect([status, message]).toEqual(['INVALID_CREDENTIALS', expect.stringContaining('not an API server of Kubernetes')]);
});

test('a second record of one cluster is not worked with, as long as there is the first one', async () => {
  const first = params;
  expect((await reported(kubeconfig(known.token)))[0]).toBe('DEPLOYED');
  const body = { name: 'twin', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
  const { organizationId } = first;
  const twin = { organizationId, clusterId: (await client.call('createCluster', { params: { organizationId }, body })).id };
  params = twin;
  const [status, message] = await reported(kubeconfig(known.token));
  expect([status, message]).toEqual(['INVALID_CREDENTIALS', expect.stringContaining('the same Kubernetes as the cluster rack')]);
  const { id: elsewhere } = await server.organization();
  const other = (await client.call('createCluster', { params: { organizationId: elsewhere }, body })).id;
  params = { organizationId: elsewhere, clusterId: other };
  expect((await reported(kubeconfig(known.token)))[1]).toContain('a cluster of another organization');
  await client.call('deleteCluster', { params: twin });
  await client.call('deleteCluster', { params: first });
  expect((await reported(kubeconfig(known.token)))[0]).toBe('DEPLOYED');
});

test('a record whose credentials lead elsewhere lets go of the cluster that it had', async () => {
  const { organizationId } = params;
  expect((await reported(kubeconfig(known.token)))[0]).toBe('DEPLOYED');
  const former = known.uid;
  known = { ...known, uid: randomUUID(), token: 'better' };
  expect((await reported(kubeconfig('better')))[0]).toBe('DEPLOYED');
  known = { ...known, uid: former };
  const body = { name: 'successor', region: 'basement', cloud_provider: 'ON_PREMISE' } as const;
  params = { organizationId, clusterId: (await client.call('createCluster', { params: { organizationId }, body })).id };
  expect((await reported(kubeconfig('better')))[0]).toBe('DEPLOYED');
});
