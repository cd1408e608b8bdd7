import { randomUUID } from 'node:crypto';
import { startTestSite } from '@davit/testkit/site';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GitFixture, pushOf } from './testing.ts';

/* A git host's API for the webhooks of repositories, in the format of each host. */

interface Hook {
  id: number;
  uuid: string;
  [member: string]: unknown;
}
interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
}

let fixture: GitFixture;
let site: Awaited<ReturnType<typeof startTestSite>>;
const hooks = new Map<string, Hook[]>();
const requested: Asked[] = [];
let refuses = 0;

beforeAll(async () => {
  site = await startTestSite((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://host');
      requested.push({ method: request.method ?? '', path: pathname, authorization: request.headers.authorization });
      if (refuses > 0) {
        response.writeHead(refuses).end('{"message": "sesame is not allowed"}');
        return;
      }
      const [, all = '', id] = /^(.*\/hooks)(?:\/(.+))?$/.exec(pathname) ?? [];
      const list = hooks.get(all) ?? [];
      const body: object = parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString());
      if (request.method === 'POST') list.push({ id: list.length + 1, uuid: `{${randomUUID()}}`, ...body });
      else if (id !== undefined) {
        const hook = list.find((one) => String(one.id) === id || one.uuid === decodeURIComponent(id));
        Object.assign(hook ?? {}, body);
      }
      hooks.set(all, list);
      response.end(JSON.stringify(all.startsWith('/c') ? { values: list } : list));
    });
  });
  fixture = await GitFixture.open({ DAVIT_PUBLIC_URL: 'https://davit.example.org' });
});
afterAll(async () => {
  await fixture.close();
  await site.close();
});

type Provider = 'HOSTA' | 'HOSTB' | 'HOSTC';

async function service(provider: Provider, name: string, hasToken = true): Promise<string> {
  const git_api_url = `${site.url}/${provider.at(-1)?.toLowerCase()}`;
  const made = await fixture.api.call('createGitToken', {
    params: { organizationId: fixture.owner.id },
    body: { name: `token ${randomUUID()}`, type: provider, token: 'sesame', git_api_url },
  });
  const git_repository = {
    url: `https://git.example.org/acme/${name}.git`,
    provider,
    ...(hasToken && { git_token_id: made.id }),
  };
  const params = { environmentId: await fixture.environment() };
  return (
    await fixture.api.call('createApplication', { params, body: { name: 'web', dockerfile_path: 'Dockerfile', git_repository } })
  ).id;
}

const status = (serviceId: string) => fixture.api.call('getServiceGitWebhookStatus', { params: { serviceId } });
const sync = (serviceId: string) => fixture.api.call('syncServiceGitWebhook', { params: { serviceId } });

/** Removes an event from a webhook, as a user could at the host. */
const without =
  (event: string) =>
  (hook: Hook): void => {
    if (Array.isArray(hook['events'])) hook['events'] = hook['events'].filter((one) => one !== event);
    else hook[event] = false;
  };

test.each([
  ['HOSTA', '/a/repos/acme/one/hooks', without('pull_request'), 'pull_request'],
  ['HOSTB', '/b/projects/acme%2Fone/hooks', without('merge_requests_events'), 'merge_requests_events'],
  ['HOSTC', '/c/repositories/acme/one/hooks', without('pullrequest:rejected'), 'pullrequest:rejected'],
] as const)('the webhook is made at %s, checked, and put right', async (provider, path, spoil, missing) => {
  const id = await service(provider, 'one');
  expect(await status(id)).toEqual({ status: 'NOT_CONFIGURED', provider, missing_events: [] });
  expect(await sync(id)).toEqual({ status: 'ACTIVE', provider, missing_events: [] });
  const [hook, ...others] = hooks.get(path) ?? [];
  expect(others).toEqual([]);
  const { url, secret } = await fixture.webhook(id);
  expect(JSON.stringify(hook)).toContain(url);
  expect(JSON.stringify(hook)).toContain(secret);
  expect(requested.at(-1)?.authorization).toBe('Bearer sesame');
  if (hook === undefined) throw new Error('the host has no webhook');
  spoil(hook);
  expect(await status(id)).toEqual({ status: 'MISCONFIGURED', provider, missing_events: [missing] });
  expect(await sync(id)).toMatchObject({ status: 'ACTIVE' });
  expect(hooks.get(path)).toHaveLength(1);
});

test('a token that may not manage webhooks is told, and nothing of the answer', async () => {
  const id = await service('HOSTA', 'refused');
  await sync(id);
  refuses = 403;
  try {
    expect(await status(id)).toMatchObject({ status: 'UNABLE_TO_VERIFY' });
    const failure = await sync(id).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      status: 424,
      code: 'REMOTE_REFUSED',
      message: expect.stringContaining('must be allowed to manage'),
    });
    expect(String(failure)).not.toContain('sesame');
  } finally {
    refuses = 0;
  }
});

test('without a token deliveries tell whether the webhook works', async () => {
  const id = await service('HOSTA', 'plain', false);
  const before = requested.length;
  expect(await status(id)).toMatchObject({ status: 'NOT_CONFIGURED' });
  expect(await sync(id)).toMatchObject({ status: 'UNABLE_TO_VERIFY' });
  const address = await fixture.webhook(id);
  await fixture.send({ ...address, secret: 'wrong' }, 'ping', {});
  expect(await status(id)).toMatchObject({ status: 'MISCONFIGURED' });
  await fixture.send(address, 'push', pushOf('c'.repeat(40)));
  expect(await status(id)).toMatchObject({ status: 'ACTIVE' });
  expect(requested.length).toBe(before);
});
