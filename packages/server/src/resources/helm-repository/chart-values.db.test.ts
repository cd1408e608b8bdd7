import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { CallInput, Client } from '@davit/client';
import { hasRegistry, startTestRegistry } from '@davit/testkit/registry';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { startTestSite } from '@davit/testkit/site';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let params: { organizationId: string };
let at: { params: { environmentId: string } };
beforeAll(async () => {
  server = await startTestServer({
    environment: { DAVIT_ALLOW_PRIVATE_TARGETS: 'true', DAVIT_ALLOW_HTTP_REGISTRIES: 'true' },
  });
  client = server.client();
  params = { organizationId: (await server.organization()).id };
  const project = await client.call('createProject', { params, body: { name: 'shop' } });
  const environment = await client.call('createEnvironment', { params: { projectId: project.id }, body: { name: 'live' } });
  at = { params: { environmentId: environment.id } };
});
afterAll(() => server.close());

const text = '# How many.\nreplicas: 1\n';

/** Returns an archive in the format of `helm package`. */
async function archiveOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = pack();
  for (const [name, content] of Object.entries(files)) tar.entry({ name }, content);
  tar.finalize();
  return gzipSync(await buffer(tar));
}
const chart = () =>
  archiveOf({ 'web/Chart.yaml': 'name: web', 'web/values.yaml': text, 'web/charts/db/values.yaml': 'not: this', 'web/a': 'b' });

type Request = CallInput<'createHelmRepository'>['body'];
const repository = async (request: Omit<Request, 'name' | 'skip_tls_verification'>): Promise<string> =>
  (
    await client.call('createHelmRepository', {
      params,
      body: { name: randomUUID(), skip_tls_verification: false, ...request },
    })
  ).id;
const values = (id: string, chart_version = '1.2.3', chart_name = 'web') =>
  client.call('createHelmDefaultValues', {
    ...at,
    body: { source: { helm_repository: { repository: id, chart_name, chart_version } } },
  });

const index = (url: string): string =>
  `apiVersion: v1\nentries:\n  web:\n    - {name: web, version: 2.0.0, urls: [other.tgz]}\n    - {name: web, version: 1.2.3, urls: ['${url}']}\n`;

/** Starts a repository whose index names this place. Records the requests that it receives. */
async function site(url: string, archive: Buffer, status = 200) {
  const requested: { url: string; authorization: string | undefined }[] = [];
  const started = await startTestSite((request: IncomingMessage, response) => {
    const path = request.url ?? '';
    requested.push({ url: path, authorization: request.headers.authorization });
    const isIndex = path.endsWith('/index.yaml');
    response.statusCode = isIndex ? 200 : status;
    response.end(isIndex ? index(url) : archive);
  });
  return { ...started, asked: requested };
}

test('the values of a chart come from its archive in the repository, with the credentials of the repository', async () => {
  const charts = await site('files/web-1.2.3.tgz', await chart());
  try {
    const id = await repository({ kind: 'HTTPS', url: `${charts.url}/stable`, config: { username: 'ann', password: 'sesame' } });
    expect(await values(id)).toBe(text);
    const authorization = `Basic ${Buffer.from('ann:sesame').toString('base64')}`;
    expect(charts.asked).toEqual([
      { url: '/stable/index.yaml', authorization },
      { url: '/stable/files/web-1.2.3.tgz', authorization },
    ]);
    for (const [version, name] of [
      ['1.2.4', 'web'],
      ['1.2.3', 'toString'],
    ] as const) {
      await expect(values(id, version, name)).rejects.toMatchObject({
        status: 400,
        code: 'SOURCE_NOT_USABLE',
        errors: [{ path: 'source.helm_repository.chart_version' }],
      });
    }
  } finally {
    await charts.close();
  }
});

test('an archive elsewhere is asked for without the credentials', async () => {
  const elsewhere = await site('', await chart());
  const charts = await site(`${elsewhere.url}/web.tgz`, Buffer.alloc(0));
  try {
    const id = await repository({ kind: 'HTTPS', url: charts.url, config: { username: 'ann', password: 'sesame' } });
    expect(await values(id)).toBe(text);
    expect(elsewhere.asked).toEqual([{ url: '/web.tgz', authorization: undefined }]);
  } finally {
    await charts.close();
    await elsewhere.close();
  }
});

test('a chart without values has none; what is no archive, and one that unpacks to too much, are told', async () => {
  const bomb = gzipSync(Buffer.alloc(80 * 1024 * 1024));
  const large = await archiveOf({ 'web/values.yaml': 'x'.repeat(5 * 1024 * 1024) });
  const outcomes: unknown[] = [];
  for (const archive of [await archiveOf({ 'web/Chart.yaml': 'name: web' }), Buffer.from('<html>'), bomb, large]) {
    const charts = await site('web.tgz', archive);
    const id = await repository({ kind: 'HTTPS', url: charts.url, config: {} });
    outcomes.push(await values(id).catch((error: { code: string }) => error.code));
    await charts.close();
  }
  expect(outcomes).toEqual(['', 'REMOTE_NOT_UNDERSTOOD', 'REMOTE_NOT_UNDERSTOOD', 'REMOTE_NOT_UNDERSTOOD']);
});

test('a repository that refuses the archive, and one that has lost it, are told apart', async () => {
  const outcomes: unknown[] = [];
  for (const status of [403, 404]) {
    const charts = await site('web.tgz', Buffer.alloc(0), status);
    const id = await repository({ kind: 'HTTPS', url: charts.url, config: {} });
    outcomes.push(await values(id).catch((error: { code: string }) => error.code));
    await charts.close();
  }
  expect(outcomes).toEqual(['REMOTE_REFUSED', 'REMOTE_NOT_UNDERSTOOD']);
});

test.skipIf(!hasRegistry)('the values of a chart come from an OCI registry', async () => {
  const registry = await startTestRegistry();
  try {
    await registry.pushChart('charts/web', '1.2.3_build.5', await chart());
    await registry.push('charts/image', '1.2.3');
    const { username, password } = registry;
    const url = `${registry.url.replace('http:', 'oci:')}/charts`;
    const id = await repository({ kind: 'OCI_GENERIC_CR', url, config: { username, password } });
    expect(await values(id, '1.2.3+build.5')).toBe(text);
    for (const call of [() => values(id, '9.9.9'), () => values(id, '1.2.3', 'image')]) {
      await expect(call()).rejects.toMatchObject({ code: 'SOURCE_NOT_USABLE' });
    }
  } finally {
    await registry.close();
  }
});

test('a request names exactly one source, which is the organization’s', async () => {
  const other = await server.organization();
  const theirs = await server.client(other.tokens.ADMIN).call('createHelmRepository', {
    params: { organizationId: other.id },
    body: { name: 'theirs', kind: 'HTTPS', url: 'https://charts.example.org', skip_tls_verification: false, config: {} },
  });
  await expect(values(theirs.id)).rejects.toMatchObject({
    code: 'INVALID_REFERENCE',
    errors: [{ path: 'source.helm_repository.repository' }],
  });
  const git_repository = { url: 'https://git.example.org/a/b.git' };
  const helm_repository = { repository: theirs.id, chart_name: 'web', chart_version: '1' };
  for (const source of [{}, { git_repository, helm_repository }]) {
    await expect(client.call('createHelmDefaultValues', { ...at, body: { source } })).rejects.toMatchObject({
      status: 400,
      errors: [{ path: 'source' }],
    });
  }
  await expect(values(theirs.id, '../1', '../web')).rejects.toMatchObject({
    errors: [{ path: 'source.helm_repository.chart_name' }, { path: 'source.helm_repository.chart_version' }],
  });
});
