import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GitFixture, pushOf, type Address } from './testing.ts';

/* Tests of the requests of git hosts, in the format of each host, and of their authentication. */

let fixture: GitFixture;
let id: string;
let address: Address;
const commit = 'c'.repeat(40);
beforeAll(async () => {
  fixture = await GitFixture.open({ DAVIT_PUBLIC_URL: 'https://davit.example.org/' });
  const repository = fixture.repository();
  repository.commit('first', { Dockerfile: 'FROM scratch' });
  id = await fixture.application(await fixture.environment(), repository);
  address = await fixture.webhook(id);
});
afterAll(() => fixture.close());

const hmac = (body: string): string => createHmac('sha256', address.secret).update(body).digest('hex');

test('address and secret are those of the repository, for all its services, and survive reading again', async () => {
  expect(new URL(address.url).origin).toBe('https://davit.example.org');
  expect(address.secret).toMatch(/^[0-9a-f]{64}$/);
  expect(await fixture.webhook(id)).toEqual(address);
  const { git_repository } = await fixture.api.call('getApplication', { params: { applicationId: id } });
  const url = `file://${git_repository?.url}.git`;
  const environmentId = await fixture.environment();
  const body = { name: 'same repository', dockerfile_path: 'Dockerfile', git_repository: { url } };
  const other = await fixture.api.call('createApplication', { params: { environmentId }, body });
  expect(await fixture.webhook(other.id)).toMatchObject({ url: address.url });
  const stranger = await fixture.server.organization();
  const theirs = fixture.server.client(stranger.tokens.WRITE);
  const call = theirs.call('createServiceGitWebhook', { params: { serviceId: id }, body: {} });
  await expect(call).rejects.toMatchObject({ status: 404 });
});

test.each([
  ['https://Git.Example.org/acme/Shop.git', 'https://git.example.org:443/acme/Shop/'],
  ['https://github.com/Acme/Shop', 'https://www.github.com/acme/shop.git'],
  ['http://git.example.org:8080/acme/shop', 'http://git.example.org:8080/acme/shop.git'],
])('%s and %s are one repository', async (one, other) => {
  const environmentId = await fixture.environment();
  const addresses = new Set<string>();
  for (const [index, url] of [one, other].entries()) {
    const body = { name: `a${index}`, dockerfile_path: 'Dockerfile', git_repository: { url } };
    const made = await fixture.api.call('createApplication', { params: { environmentId }, body });
    addresses.add((await fixture.webhook(made.id)).url);
  }
  expect(addresses.size).toBe(1);
});

test('a service that comes from no repository has no webhook', async () => {
  const registry = await fixture.api.call('createContainerRegistry', {
    params: { organizationId: fixture.owner.id },
    body: { name: 'registry', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
  });
  const body = { name: 'cache', registry_id: registry.id, image_name: 'cache', tag: '7' };
  const params = { environmentId: await fixture.environment() };
  const { id: serviceId } = await fixture.api.call('createContainer', { params, body });
  await expect(fixture.api.call('createServiceGitWebhook', { params: { serviceId }, body: {} })).rejects.toMatchObject({
    status: 400,
  });
  expect((await fixture.api.call('listServiceGitEvents', { params: { serviceId } })).results).toEqual([]);
});

const hostA = (body: string) => ({ 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${hmac(body)}` });
const pushed = { kind: 'PUSH', branch: 'main', git_commit_id: commit };

test.each([
  ['HOSTA', pushOf(commit), hostA],
  [
    'a server that speaks like HOSTA',
    pushOf(commit),
    (body: string) => ({ 'x-gitea-event': 'push', 'x-gitea-signature': hmac(body) }),
  ],
  [
    'a hook of a generic server',
    { ref: 'refs/heads/main', after: commit },
    (body: string) => ({ 'x-hub-signature-256': hmac(body) }),
  ],
  [
    'HOSTB',
    {
      object_kind: 'push',
      ref: 'refs/heads/main',
      before: '0'.repeat(40),
      after: commit,
      user_username: 'ada',
      project: { default_branch: 'main' },
    },
    () => ({ 'x-gitlab-event': 'Push Hook', 'x-gitlab-token': address.secret }),
  ],
  [
    'HOSTC',
    {
      actor: { nickname: 'ada' },
      push: {
        changes: [
          {
            forced: false,
            old: { type: 'branch', name: 'main', target: { hash: 'b'.repeat(40) } },
            new: { type: 'branch', name: 'main', target: { hash: commit } },
          },
        ],
      },
    },
    (body: string) => ({ 'x-event-key': 'repo:push', 'x-hub-signature': `sha256=${hmac(body)}` }),
  ],
])('a push of %s is understood', async (_host, payload, headersOf) => {
  const body = JSON.stringify({ ...payload, nonce: randomUUID() });
  expect(await fixture.post(address.url, body, headersOf(body))).toMatchObject({ status: 202 });
  expect(await fixture.newest(id)).toMatchObject(pushed);
});

test('HOSTC tells of several branches and tags at once', async () => {
  const branch = (name: string) => ({ new: { type: 'branch', name, target: { hash: commit } }, old: null });
  const changes = [branch('one'), branch('two'), { new: { type: 'tag', name: 'v1', target: { hash: commit } }, old: null }];
  const body = JSON.stringify({ push: { changes } });
  await fixture.post(address.url, body, { 'x-event-key': 'repo:push', 'x-hub-signature': hmac(body) });
  await fixture.newest(id);
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(results.slice(0, 3).map(({ kind, branch: name }) => [kind, name])).toEqual([
    ['OTHER', null],
    ['PUSH', 'two'],
    ['PUSH', 'one'],
  ]);
});

test('a payload in a form, as hosts send it unless told otherwise, is understood', async () => {
  const body = new URLSearchParams({ payload: JSON.stringify(pushOf(commit, { nonce: randomUUID() })) }).toString();
  const headers = { ...hostA(body), 'content-type': 'application/x-www-form-urlencoded' };
  expect(await fixture.post(address.url, body, headers)).toMatchObject({ status: 202 });
  expect(await fixture.newest(id)).toMatchObject(pushed);
});

test('what is not signed with the secret is refused, and the ledger counts it without growing', async () => {
  const body = JSON.stringify(pushOf('d'.repeat(40)));
  const before = (await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } })).results.length;
  const wrong: Readonly<Record<string, string>>[] = [
    {},
    { 'x-hub-signature-256': 'sha256=' },
    { 'x-hub-signature-256': `sha256=${hmac('other')}` },
  ];
  for (const headers of [...wrong, { 'x-gitlab-token': 'guess' }, { 'x-gitlab-token': '' }]) {
    const answer = await fixture.post(address.url, body, { 'x-github-event': 'push', ...headers });
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } });
  }
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  // There are two rows if a minute ended in between.
  expect(results.length - before).toBeLessThanOrEqual(2);
  expect(results[0]).toMatchObject({ status: 'REFUSED', reason: expect.stringContaining('signature') });
  const times = results.filter(({ status }) => status === 'REFUSED').reduce((sum, one) => sum + one.times, 0);
  expect(times).toBe(5);
  expect(JSON.stringify(results)).not.toContain(address.secret);
});

test.each(['', 'no json', '[', 'null', '7'])(
  'a body that is no JSON object (%j) is refused with what to choose',
  async (body) => {
    const answer = await fixture.post(address.url, body, hostA(body));
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining('application/json') } });
  },
);

test.each([
  ['push', {}],
  ['push', { ref: 7, after: {} }],
  ['push', { ref: 'refs/heads/main', after: 'abc' }],
  ['push', []],
  ['pull_request', { action: 'opened' }],
  ['pull_request', { action: 'opened', pull_request: { number: 'x', head: null } }],
])('a %s that lacks what it is about (%j) is recorded and nothing more', async (event, payload) => {
  const answer = await fixture.send(address, event, payload);
  expect(answer.status).toBeLessThan(500);
  const newest = await fixture.newest(id);
  expect(newest.verdicts.filter(({ verdict }) => verdict === 'DEPLOYED')).toEqual([]);
});

test('a payload of another repository says where it belongs', async () => {
  await fixture.send(address, 'push', { ...pushOf(commit), repository: { full_name: 'Acme/Other' } });
  expect(await fixture.newest(id)).toMatchObject({ kind: 'OTHER', reason: expect.stringContaining('enter that of the other') });
});

test('an address that nobody has is answered 404', async () => {
  for (const path of [randomUUID(), 'abc', '%00']) {
    const answer = await fixture.post(`http://davit/git-webhook/${path}`, '{}', {});
    expect(answer).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
  }
});

const requested = { kind: 'PULL_REQUEST', branch: 'feature', pull_request: '12', status: 'DONE' };

test('pull requests of HOSTB and HOSTC are understood, also from other repositories with a shortened commit', async () => {
  const merge = {
    object_kind: 'merge_request',
    user: { username: 'ada' },
    object_attributes: {
      iid: 12,
      action: 'open',
      title: 'A feature',
      source_branch: 'feature',
      target_branch: 'main',
      source_project_id: 1,
      target_project_id: 1,
      last_commit: { id: commit },
    },
  };
  const hostB = JSON.stringify(merge);
  const sent = await fixture.post(address.url, hostB, {
    'x-gitlab-event': 'Merge Request Hook',
    'x-gitlab-token': address.secret,
  });
  expect(sent.status).toBe(202);
  expect(await fixture.newest(id)).toMatchObject({ ...requested, git_commit_id: commit });
  const end = (branch: string, full_name: string) => ({
    branch: { name: branch },
    commit: { hash: commit.slice(0, 12) },
    repository: { full_name, links: { html: { href: `https://host.example.org/${full_name}` } } },
  });
  const pullrequest = {
    id: 12,
    title: 'A feature',
    source: end('feature', 'mallory/shop'),
    destination: end('main', 'acme/shop'),
  };
  const hostC = JSON.stringify({ pullrequest });
  await fixture.post(address.url, hostC, { 'x-event-key': 'pullrequest:created', 'x-hub-signature': `sha256=${hmac(hostC)}` });
  expect(await fixture.newest(id)).toMatchObject({ ...requested, summary: expect.stringContaining('feature to main') });
  const closed = JSON.stringify({ pullrequest: { ...pullrequest, state: 'MERGED' } });
  await fixture.post(address.url, closed, {
    'x-event-key': 'pullrequest:fulfilled',
    'x-hub-signature': `sha256=${hmac(closed)}`,
  });
  expect(await fixture.newest(id)).toMatchObject({ ...requested, summary: expect.stringContaining('was merged') });
});

test('after a rotation only the new secret is right', async () => {
  const rotated = await fixture.api.call('createServiceGitWebhook', { params: { serviceId: id }, body: { rotate: true } });
  expect(rotated.url).toBe(address.url);
  expect(rotated.secret).not.toBe(address.secret);
  expect(await fixture.send(address, 'push', pushOf(commit))).toMatchObject({ status: 401 });
  expect(await fixture.send(rotated, 'push', pushOf(commit))).toMatchObject({ status: 202 });
});
