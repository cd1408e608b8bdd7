import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CallInput, Client } from '@davit/client';
import { statement } from '@davit/db';
import { findProgram } from '@davit/drivers';
import { hasRegistry, startTestRegistry } from '@davit/testkit/registry';
import { startTestSite } from '@davit/testkit/site';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { FAILSAFE_SCHEMA, load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let params: { organizationId: string };
beforeAll(async () => {
  server = await startTestServer({
    environment: { DAVIT_ALLOW_PRIVATE_TARGETS: 'true', DAVIT_ALLOW_HTTP_REGISTRIES: 'true' },
  });
  client = server.client();
  params = { organizationId: (await server.organization()).id };
});
afterAll(() => server.close());

type Body = CallInput<'createHelmRepository'>['body'];
const create = (body: Partial<Body> & Pick<Body, 'kind'>) =>
  client.call('createHelmRepository', {
    params,
    body: { name: randomUUID(), skip_tls_verification: false, config: {}, ...body },
  });
async function charts(body: Partial<Body> & Pick<Body, 'kind'>, chartName?: string) {
  const { id } = await create(body);
  const query = chartName === undefined ? {} : { chartName };
  return (await client.call('getHelmCharts', { params: { ...params, helmRepositoryId: id }, query })).results;
}

test('is created, read, listed, edited and deleted, its secrets unseen', async () => {
  const own = { organizationId: (await server.organization()).id };
  const body: Body = {
    name: 'charts',
    kind: 'HTTPS',
    url: 'https://charts.example.org/stable',
    skip_tls_verification: true,
    config: { username: 'ann', password: 'canary-1' },
  };
  const made = await client.call('createHelmRepository', { params: own, body });
  const { password: _password, ...shown } = body.config;
  expect(made).toMatchObject({ ...body, config: shown, description: '', associated_services_count: 0 });
  const ids = { ...own, helmRepositoryId: made.id };
  expect(await client.call('getHelmRepository', { params: ids })).toEqual(made);
  expect(await client.call('listHelmRepository', { params: own })).toEqual({ results: [made] });
  const edit: Body = { name: 'Charts', kind: 'HTTPS', skip_tls_verification: false, config: {} };
  const edited = await client.call('editHelmRepository', { params: ids, body: edit });
  expect(edited).toMatchObject({ ...edit, url: body.url, config: { username: 'ann' } });
  expect(JSON.stringify([made, edited])).not.toContain('canary');
  await client.call('deleteHelmRepository', { params: ids });
  await expect(client.call('getHelmRepository', { params: ids })).rejects.toMatchObject({ status: 404 });
});

test('has the url that its kind wants', async () => {
  const wrong = [
    ['HTTPS', undefined],
    ['HTTPS', 'oci://charts.example.org'],
    ['OCI_GENERIC_CR', undefined],
    ['OCI_GENERIC_CR', 'https://charts.example.org'],
    ['OCI_GENERIC_CR', 'oci://'],
    ['OCI_GENERIC_CR', 'oci://ann:pw@charts.example.org'],
    ['OCI_HOSTA_CR', 'oci://ghcr.io.example.org/charts'],
    ['OCI_HUBA_CR', 'oci://charts.example.org'],
  ] as const;
  for (const [kind, url] of wrong) {
    await expect(create({ kind, url })).rejects.toMatchObject({ status: 400, errors: [{ path: 'url' }] });
  }
  expect(await create({ kind: 'OCI_HUBA_CR' })).toMatchObject({ url: 'oci://registry-1.docker.io' });
  expect(await create({ kind: 'OCI_HUBA_CR', url: 'oci://docker.io/team' })).toMatchObject({ url: 'oci://docker.io/team' });
  expect(await create({ kind: 'OCI_HOSTA_CR' })).toMatchObject({ url: 'oci://ghcr.io' });
  await expect(create({ kind: 'OCI_ECR', url: 'oci://x.example.org' })).rejects.toMatchObject({
    errors: [{ path: 'config.region' }, { path: 'config.access_key_id' }, { path: 'config.secret_access_key' }],
  });
  const { results } = await client.call('listAvailableHelmRepository');
  expect(results).toHaveLength(8);
  expect(results[0]).toEqual({ kind: 'HTTPS', required_config: {}, is_mandatory: false });
});

const index = `
apiVersion: v1
entries:
  web:
    - name: web
      version: 1.10
      appVersion: "2"
    - name: web
      version: 1.9.0
  broken: nothing
  worker:
    - {name: worker, version: 0.1.0+build.5}
    - {name: worker}
generated: 2026-01-02T03:04:05Z
`;

describe('charts', () => {
  const seen: { path: string; authorization: string | undefined }[] = [];
  let answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end(index);
  let site: Awaited<ReturnType<typeof startTestSite>>;
  beforeAll(async () => {
    site = await startTestSite((request, response) => {
      seen.push({ path: request.url ?? '', authorization: request.headers.authorization });
      answer(request, response);
    });
  });
  afterAll(() => site.close());

  test('come from the index of the repository, with its credentials', async () => {
    const config = { username: 'ann', password: 'sesame' };
    expect(await charts({ kind: 'HTTPS', url: `${site.url}/stable/`, config })).toEqual([
      { chart_name: 'web', versions: ['1.10', '1.9.0'] },
      { chart_name: 'broken', versions: [] },
      { chart_name: 'worker', versions: ['0.1.0+build.5'] },
    ]);
    const authorization = `Basic ${Buffer.from('ann:sesame').toString('base64')}`;
    expect(seen).toEqual([{ path: '/stable/index.yaml', authorization }]);
    const worker = { chart_name: 'worker', versions: ['0.1.0+build.5'] };
    expect(await charts({ kind: 'HTTPS', url: site.url }, 'worker')).toEqual([worker]);
    expect(await charts({ kind: 'HTTPS', url: site.url }, 'nothing')).toEqual([]);
  });

  test('are asked for with stored credentials at one place only: neither after a redirect nor after a move', async () => {
    const elsewhere: (string | undefined)[] = [];
    const other = await startTestSite(({ headers }, response) => {
      elsewhere.push(headers.authorization);
      response.end(index);
    });
    const config = { username: 'ann', password: 'sesame' };
    const { id, name } = await create({ kind: 'HTTPS', url: site.url, config });
    const ids = { ...params, helmRepositoryId: id };
    const edit = (body: Partial<Body>) =>
      client.call('editHelmRepository', {
        params: ids,
        body: { name, kind: 'HTTPS', skip_tls_verification: false, config: {}, ...body },
      });
    const [former] = [answer];
    answer = (_request, response) => response.writeHead(307, { location: `${other.url}/index.yaml` }).end();
    expect((await client.call('getHelmCharts', { params: ids })).results).toHaveLength(3);
    answer = former;
    const unsafe = edit({ skip_tls_verification: true });
    await expect(unsafe).rejects.toMatchObject({ status: 400, errors: [{ path: 'config.password' }] });
    await edit({ skip_tls_verification: true, config });
    await edit({ skip_tls_verification: true });
    await expect(edit({ url: other.url, config: { username: 'ann' } })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'config.password' }],
    });
    expect(await edit({ url: other.url })).toMatchObject({ config: {} });
    expect((await client.call('getHelmCharts', { params: ids })).results).toHaveLength(3);
    expect(elsewhere).toEqual([undefined, undefined]);
    await other.close();
  });

  test('of a large index are read while the server goes on answering', async () => {
    const entry = (number: number): string =>
      `  chart-${number}:\n${Array.from({ length: 20 }, (_none, minor) => `  - name: chart-${number}\n    version: 1.${minor}.0\n    description: some words\n    urls: [a, b]\n`).join('')}`;
    const large = `entries:\n${Array.from({ length: 4000 }, (_none, number) => entry(number)).join('')}`;
    const before = performance.now();
    load(large, { schema: FAILSAFE_SCHEMA });
    const parsing = performance.now() - before;
    answer = (_request, response) => response.end(large);
    const requested = charts({ kind: 'HTTPS', url: site.url });
    const progress = { isDone: false };
    void requested.finally(() => (progress.isDone = true));
    let slowest = 0;
    while (!progress.isDone) {
      const began = performance.now();
      await client.call('getOrganization', { params });
      slowest = Math.max(slowest, performance.now() - began);
    }
    const found = await requested;
    expect(found).toHaveLength(4000);
    expect(found[0]?.versions).toHaveLength(20);
    // If the index were parsed in the thread that serves requests, one request would have waited for all of it.
    expect(slowest).toBeLessThan(parsing / 2);
  });

  test('of what is no Helm repository are told apart', async () => {
    const cases: readonly [typeof answer, string][] = [
      [(_request, response) => response.end('<html>'), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.end('entries: [unclosed'), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.end('entries: 1'), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.end(''), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.writeHead(404).end(), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.writeHead(503).end(), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => response.writeHead(401).end(), 'REMOTE_REFUSED'],
      [(request) => request.socket.destroy(), 'REMOTE_UNREACHABLE'],
    ];
    for (const [reply, code] of cases) {
      answer = reply;
      await expect(charts({ kind: 'HTTPS', url: site.url })).rejects.toMatchObject({ status: 424, code });
    }
  });

  test('are refused by a name that is none', async () => {
    const call = charts({ kind: 'HTTPS', url: site.url }, '../secret');
    await expect(call).rejects.toMatchObject({ status: 400, errors: [{ path: 'chartName' }] });
  });
});

describe.skipIf(findProgram('openssl') === null)('a repository with a certificate of its own', () => {
  test('is read only where its verification is switched off', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'davit-tls-'));
    const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')];
    const make = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=test', '-keyout', key, '-out', cert];
    execFileSync('openssl', make, { stdio: 'ignore' });
    const options = { key: readFileSync(key), cert: readFileSync(cert) };
    const site = createServer(options, (_request, response) => response.end(index)).listen(0, '127.0.0.1');
    await once(site, 'listening');
    const address = site.address();
    const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    try {
      await expect(charts({ kind: 'HTTPS', url })).rejects.toMatchObject({
        code: 'REMOTE_UNREACHABLE',
        message: expect.stringContaining('certificate'),
      });
      expect(await charts({ kind: 'HTTPS', url, skip_tls_verification: true })).toHaveLength(3);
    } finally {
      site.close();
      rmSync(folder, { recursive: true });
    }
  });
});

test('charts in an OCI registry are not listed, and it says so', async () => {
  await expect(charts({ kind: 'OCI_GENERIC_CR', url: 'oci://charts.example.org' })).rejects.toMatchObject({
    status: 400,
    code: 'NOT_SUPPORTED',
    message: expect.stringContaining('chartName'),
  });
  const config = { region: 'r', access_key_id: 'a', secret_access_key: 's' };
  const call = charts({ kind: 'OCI_ECR', url: 'oci://charts.example.org', config }, 'web');
  await expect(call).rejects.toMatchObject({ status: 400, code: 'NOT_SUPPORTED' });
});

test.skipIf(!hasRegistry)('the versions of one chart come from its OCI registry', async () => {
  const registry = await startTestRegistry();
  try {
    for (const tag of ['1.9.0', '1.10.0_build.5']) await registry.push('charts/web', tag);
    const { username, password } = registry;
    const url = `${registry.url.replace('http:', 'oci:')}/charts`;
    const body = { kind: 'OCI_GENERIC_CR', url, config: { username, password } } as const;
    expect(await charts(body, 'web')).toEqual([{ chart_name: 'web', versions: ['1.10.0+build.5', '1.9.0'] }]);
    expect(await charts(body, 'nothing')).toEqual([]);
  } finally {
    await registry.close();
  }
});

/**
 * Inserts a service in the form that a service deployed from a repository has. Such a service cannot be created over
 * HTTP yet.
 */
const insertHelm = statement(
  'test_insert_helm_service',
  `with place as (select e.*, s.id as stage_id from environment e join deployment_stage s on s.environment_id = e.id
                   where e.id = $1 order by s.position limit 1)
   insert into service (id, organization_id, project_id, environment_id, stage_id, stage_entry_id, type, name, spec, driver)
   select gen_random_uuid(), organization_id, project_id, id, stage_id, gen_random_uuid(), 'HELM', 'ingress', $2::jsonb, 'fake'
     from place`,
);

test('is not deleted while a service uses it, which it lists', async () => {
  const { id } = await create({ kind: 'HTTPS', url: 'https://charts.example.org' });
  const project = await client.call('createProject', { params, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  const spec = { source: { helm_repository: { repository: id, chart_name: 'ingress', chart_version: '1.0.0' } } };
  await server.database.database.run(insertHelm, [environment.id, JSON.stringify(spec)]);
  const ids = { ...params, helmRepositoryId: id };
  const { results } = await client.call('getHelmRepositoryAssociatedServices', { params: ids });
  expect(results).toMatchObject([{ service_name: 'ingress', service_type: 'HELM', project_name: 'shop' }]);
  expect(await client.call('getHelmRepository', { params: ids })).toMatchObject({ associated_services_count: 1 });
  await expect(client.call('deleteHelmRepository', { params: ids })).rejects.toMatchObject({
    status: 409,
    code: 'IN_USE',
    message: expect.stringContaining('ingress'),
  });
});
