import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallInput, Client } from '@davit/client';
import { hasRegistry, startTestRegistry, type TestRegistry } from '@davit/testkit/registry';
import { startTestSite } from '@davit/testkit/site';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { imageDigest } from './images.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let organizationId: string;
beforeAll(async () => {
  server = await startTestServer({
    environment: { DAVIT_ALLOW_PRIVATE_TARGETS: 'true', DAVIT_ALLOW_HTTP_REGISTRIES: 'true' },
  });
  client = server.client();
  organizationId = (await server.organization()).id;
});
afterAll(() => server.close());

type Query = NonNullable<CallInput<'getContainerVersions'>['query']>;
async function images(url: string, config: Record<string, string>, query: Query): ReturnType<typeof ask> {
  const body = { name: randomUUID(), kind: 'GENERIC_CR', url, config } as const;
  const { id } = await client.call('createContainerRegistry', { params: { organizationId }, body });
  return ask(id, query);
}
const ask = (id: string, query: Query) =>
  client.call('getContainerVersions', { params: { organizationId, containerRegistryId: id }, query });

describe.skipIf(!hasRegistry)('a real registry', () => {
  let registry: TestRegistry;
  let config: { username: string; password: string };
  beforeAll(async () => {
    registry = await startTestRegistry();
    config = { username: registry.username, password: registry.password };
    for (const tag of ['1.9', '1.10', 'latest']) await registry.push('team/web', tag);
    await registry.push('team/worker', '1.0');
    await registry.push('other', 'main');
  });
  afterAll(() => registry.close());

  test('is asked for the tags of an image', async () => {
    const { results } = await images(registry.url, config, { imageName: 'team/web' });
    expect(results).toEqual([{ image_name: 'team/web', versions: ['latest', '1.10', '1.9'] }]);
  });

  test('is asked for its images, by a part of their name', async () => {
    const { results } = await images(registry.url, config, {});
    expect(results).toEqual([{ image_name: 'other' }, { image_name: 'team/web' }, { image_name: 'team/worker' }]);
    expect((await images(registry.url, config, { search: 'WEB' })).results).toEqual([{ image_name: 'team/web' }]);
  });

  test('whose url has a path is looked at below that path', async () => {
    expect((await images(`${registry.url}/team/`, config, {})).results).toEqual([
      { image_name: 'web' },
      { image_name: 'worker' },
    ]);
    const { results } = await images(`${registry.url}/team`, config, { imageName: 'worker' });
    expect(results).toEqual([{ image_name: 'worker', versions: ['1.0'] }]);
  });

  test('is asked which image a tag means, by the whole name of the image', async () => {
    const { deps } = server.api;
    const host = new URL(registry.url).host;
    const body = { name: randomUUID(), kind: 'GENERIC_CR', url: registry.url, config } as const;
    const { id } = await client.call('createContainerRegistry', { params: { organizationId }, body });
    const digest = await imageDigest(deps, id, { name: `${host}/team/web`, tag: '1.10' });
    const authorization = `Basic ${Buffer.from(`${config.username}:${config.password}`).toString('base64')}`;
    const head = await fetch(`${registry.url}/v2/team/web/manifests/${digest}`, {
      method: 'HEAD',
      headers: { authorization, accept: 'application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json' },
    });
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(head.status).toBe(200);
    expect(await imageDigest(deps, id, { name: `${host}/team/web`, tag: 'nope' })).toBeNull();
    await expect(imageDigest(deps, null, { name: '127.0.0.1:9/web', tag: '1' })).rejects.toMatchObject({
      code: 'REMOTE_UNREACHABLE',
    });
  });

  test('gives nothing for an image that it does not have', async () => {
    expect((await images(registry.url, config, { imageName: 'team/nothing' })).results).toEqual([]);
  });

  test('refuses wrong credentials, and the answer says so without telling them', async () => {
    const wrong = { username: registry.username, password: 'canary-wrong' };
    for (const credentials of [wrong, {}]) {
      const call = images(registry.url, credentials, { imageName: 'team/web' });
      await expect(call).rejects.toMatchObject({
        status: 424,
        code: 'REMOTE_REFUSED',
        message: expect.stringMatching(/image team\/web does not exist there, or the credentials/),
      });
      await expect(call).rejects.not.toMatchObject({ message: expect.stringContaining('canary') });
    }
  });
});

test('an image name that is none is refused before anything is sent', async () => {
  for (const imageName of ['../../secret', 'Web', 'web:1.0', 'a//b', '/web', 'web/', 'a?b', '']) {
    const call = images('http://127.0.0.1:9', {}, { imageName });
    await expect(call).rejects.toMatchObject({ status: 400, errors: [{ path: 'imageName' }] });
  }
});

test('a registry that cannot be asked yet says so', async () => {
  const config = { region: 'r', access_key_id: 'a', secret_access_key: 's' };
  const body = { name: randomUUID(), kind: 'ECR', url: 'https://registry.example.org', config } as const;
  const { id } = await client.call('createContainerRegistry', { params: { organizationId }, body });
  await expect(ask(id, {})).rejects.toMatchObject({ status: 400, code: 'NOT_SUPPORTED' });
});

describe('a registry with tokens', () => {
  let site: Awaited<ReturnType<typeof startTestSite>>;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  const seen: { path: string; authorization: string | undefined }[] = [];
  beforeEach(async () => {
    seen.length = 0;
    site = await startTestSite((request, response) => {
      seen.push({ path: request.url ?? '', authorization: request.headers.authorization });
      answer(request, response);
    });
  });
  afterEach(() => site.close());
  const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };

  test('gets the credentials at the place of tokens only, and the token on every page', async () => {
    const basic = `Basic ${Buffer.from('ann:sesame').toString('base64')}`;
    const challenge = `Bearer realm="${site.url}/token",service="registry.example.org",scope="repository:web:pull"`;
    answer = ({ url = '', headers }, response) => {
      if (url.startsWith('/token')) return json(response, headers.authorization === basic ? 200 : 401, { token: 'abc' });
      if (headers.authorization !== 'Bearer abc') return json(response, 401, {}, { 'www-authenticate': challenge });
      if (url.includes('last=')) return json(response, 200, { name: 'web', tags: ['3'] });
      return json(response, 200, { name: 'web', tags: ['1', '2'] }, { link: '</v2/web/tags/list?n=2&last=2>; rel="next"' });
    };
    const { results } = await images(site.url, { username: 'ann', password: 'sesame' }, { imageName: 'web' });
    expect(results).toEqual([{ image_name: 'web', versions: ['3', '2', '1'] }]);
    expect(seen.map(({ authorization }) => authorization)).toEqual([undefined, basic, 'Bearer abc', 'Bearer abc']);
    expect(seen[1]?.path).toBe('/token?service=registry.example.org&scope=repository%3Aweb%3Apull');
    const wrong = images(site.url, { username: 'ann', password: 'wrong' }, { imageName: 'web' });
    await expect(wrong).rejects.toMatchObject({ status: 424, code: 'REMOTE_REFUSED', message: /credentials in config/ });
  });

  test('that redirects to another origin does not get the credentials there', async () => {
    const other: (string | undefined)[] = [];
    const elsewhere = await startTestSite(({ headers }, response) => {
      other.push(headers.authorization);
      json(response, 200, { tags: ['1'] });
    });
    answer = ({ headers }, response) => {
      if (headers.authorization === undefined) return json(response, 401, {}, { 'www-authenticate': 'Basic realm="x"' });
      return json(response, 307, {}, { location: `${elsewhere.url}/tags` });
    };
    const { results } = await images(site.url, { username: 'ann', password: 'sesame' }, { imageName: 'web' });
    expect(results).toEqual([{ image_name: 'web', versions: ['1'] }]);
    expect(other).toEqual([undefined]);
    await elsewhere.close();
  });

  test('whose url moved is sent nothing more: neither the former credentials nor those of the new place', async () => {
    const elsewhere: (string | undefined)[] = [];
    const moved = await startTestSite(({ headers }, response) => {
      elsewhere.push(headers.authorization);
      if (headers.authorization === undefined) return json(response, 401, {}, { 'www-authenticate': 'Basic realm="x"' });
      json(response, 200, { tags: ['1'] });
    });
    answer = ({ headers }, response) => {
      if (headers.authorization === undefined) return json(response, 401, {}, { 'www-authenticate': 'Basic realm="x"' });
      json(response, 200, { tags: ['1'] });
    };
    const body = { name: randomUUID(), kind: 'GENERIC_CR', url: site.url } as const;
    const first = { username: 'ann', password: 'sesame' };
    const { id } = await client.call('createContainerRegistry', {
      params: { organizationId },
      body: { ...body, config: first },
    });
    const edit = (config: CallInput<'editContainerRegistry'>['body']['config']) =>
      client.call('editContainerRegistry', {
        params: { organizationId, containerRegistryId: id },
        body: { ...body, url: moved.url, config },
      });
    await edit({});
    await expect(ask(id, { imageName: 'web' })).rejects.toMatchObject({ code: 'REMOTE_REFUSED' });
    expect(elsewhere.filter((header) => header !== undefined)).toEqual([]);
    await edit({ username: 'ann', password: 'barley' });
    const barley = `Basic ${Buffer.from('ann:barley').toString('base64')}`;
    await ask(id, { imageName: 'web' });
    expect(elsewhere.filter((header) => header !== undefined)).toEqual([barley]);
    // A release from before names the former host.
    const call = imageDigest(server.api.deps, id, { name: `${new URL(site.url).host}/web`, tag: '1' });
    await expect(call).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE' });
    expect(seen.map(({ authorization }) => authorization)).not.toContain(barley);
    await moved.close();
  });

  test('that answers something else is told apart from one that is not there', async () => {
    const refusals: readonly [typeof answer, string][] = [
      [(_request, response) => response.end('<html>'), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => json(response, 200, { tags: [1] }), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => json(response, 500, {}), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => json(response, 302, {}, { location: '/again' }), 'REMOTE_NOT_UNDERSTOOD'],
      [
        (_request, response) => json(response, 401, {}, { 'www-authenticate': 'Bearer realm="nowhere"' }),
        'REMOTE_NOT_UNDERSTOOD',
      ],
      [(_request, response) => json(response, 200, { tags: ['x'.repeat(9_000_000)] }), 'REMOTE_NOT_UNDERSTOOD'],
      [(_request, response) => json(response, 429, {}), 'REMOTE_REFUSED'],
      [(request) => request.socket.destroy(), 'REMOTE_UNREACHABLE'],
    ];
    for (const [reply, code] of refusals) {
      answer = reply;
      await expect(images(site.url, {}, { imageName: 'web' })).rejects.toMatchObject({ status: 424, code });
    }
    answer = (_request, response) => json(response, 404, {});
    await expect(images(site.url, {}, {})).rejects.toMatchObject({ status: 400, code: 'NOT_SUPPORTED' });
  });
});

test('without the settings for it, neither http nor a private address is asked', async () => {
  const strict = await startTestServer();
  try {
    const own = { organizationId: (await strict.organization()).id };
    const call = async (name: string, url: string): Promise<unknown> => {
      const body = { name, kind: 'GENERIC_CR', url, config: {} } as const;
      const { id } = await strict.client().call('createContainerRegistry', { params: own, body });
      return strict.client().call('getContainerVersions', { params: { ...own, containerRegistryId: id } });
    };
    await expect(call('a', 'http://registry.example.org')).rejects.toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
    for (const host of ['127.0.0.1:1', '[::1]:1', '169.254.169.254', 'localhost:1', '[::ffff:10.0.0.1]']) {
      await expect(call(host, `https://${host}`)).rejects.toMatchObject({
        status: 424,
        code: 'REMOTE_UNREACHABLE',
        message: expect.stringContaining('DAVIT_ALLOW_PRIVATE_TARGETS'),
      });
    }
  } finally {
    await strict.close();
  }
});
