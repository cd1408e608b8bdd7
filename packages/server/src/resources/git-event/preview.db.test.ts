import { statement } from '@davit/db';
import { failingDatabase } from '@davit/testkit/failing-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestRepository } from '../../../../drivers/src/source/testing.ts';
import { followPreviews, type PreviewClock } from './index.ts';
import { settleVerdict } from './store.ts';
import { GitFixture, pushOf, type Answered } from './testing.ts';

let fixture: GitFixture;
let clock: PreviewClock;
beforeAll(async () => {
  fixture = await GitFixture.open({ DAVIT_PREVIEWS_PER_ENVIRONMENT: '3' });
  clock = followPreviews(fixture.server.api.deps, { warn: (details, message) => console.warn(message, details) });
});
afterAll(async () => {
  await clock.stop();
  await fixture.close();
});

const files = { 'web/index.html': 'one', 'api/index.ts': 'one', 'README.md': 'one' };
let numbers = 0;

/** A pull request from a new branch of a repository. */
class PullRequest {
  readonly number = (numbers += 1);
  readonly branch = `feature-${this.number}`;
  readonly #repository: TestRepository;
  readonly #from: string;

  constructor(repository: TestRepository) {
    this.#repository = repository;
    this.#from = repository.git('rev-parse', 'main');
    repository.git('branch', this.branch, 'main');
  }

  push(changed: Readonly<Record<string, string>>): string {
    this.#repository.git('checkout', '--quiet', this.branch);
    const commit = this.#repository.commit('on the branch', changed);
    this.#repository.git('checkout', '--quiet', 'main');
    return commit;
  }

  tell(serviceId: string, action: string, more: { fork?: string; target?: string; merged?: boolean } = {}): Promise<Answered> {
    const of = (full_name: string) => ({ full_name, clone_url: this.#repository.folder });
    const pull_request = {
      number: this.number,
      title: 'A feature',
      merged: more.merged ?? false,
      user: { login: 'ada' },
      head: { ref: this.branch, sha: this.#repository.git('rev-parse', this.branch), repo: of(more.fork ?? 'acme/shop') },
      base: { ref: more.target ?? 'main', sha: this.#from, repo: of('acme/shop') },
    };
    return fixture
      .webhook(serviceId)
      .then((address) => fixture.send(address, 'pull_request', { action, number: this.number, pull_request }));
  }
}

/** Creates a service with previews, its repository, and a pull request that no webhook has reported yet. */
async function previewed(): Promise<{ repository: TestRepository; web: string; request: PullRequest }> {
  const repository = fixture.repository();
  repository.commit('first', files);
  const web = await fixture.application(await fixture.environment(), repository, { name: 'web', auto_preview: true });
  return { repository, web, request: new PullRequest(repository) };
}

async function environments(): Promise<{ id: string; name: string; mode: string }[]> {
  return (await fixture.api.call('listEnvironment', { params: { projectId: fixture.projectId } })).results;
}

const previewsOf = async (request: PullRequest) =>
  (await environments()).filter(({ name }) => name.startsWith(`PR ${request.number} `));

async function copyOf(request: PullRequest, name: string) {
  const [preview] = await previewsOf(request);
  if (preview === undefined) throw new Error('there is no preview');
  const { results } = await fixture.api.call('listApplication', { params: { environmentId: preview.id } });
  const copy = results.find((one) => one.name === name);
  if (copy === undefined) throw new Error(`the preview has no ${name}`);
  return copy;
}

async function gone(request: PullRequest): Promise<void> {
  await fixture.eventually(async () => {
    clock.look();
    return (await previewsOf(request)).length === 0;
  }, 'the removal of the preview');
}

test('a pull request gets a copy of the environment with its commit, which follows it and goes with it', async () => {
  const repository = fixture.repository('shop');
  const first = repository.commit('first', files);
  const environmentId = await fixture.environment('live');
  const web = await fixture.application(environmentId, repository, { name: 'web', auto_preview: true });
  const other = await fixture.application(environmentId, repository, { name: 'other' });
  const database = { name: 'store', type: 'POSTGRESQL' as const, version: '16', mode: 'CONTAINER' as const };
  await fixture.api.call('createDatabase', { params: { environmentId }, body: database });
  await fixture.deploy(web);
  const request = new PullRequest(repository);
  const second = request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  expect(await fixture.verdictOf(web)).toMatchObject({
    verdict: 'PREVIEWED',
    git_commit_id: second,
    reason: `the preview PR ${request.number} shop: live is now at ${second.slice(0, 12)}`,
    deployment_request_id: expect.any(String),
  });
  expect(await fixture.verdictOf(other)).toMatchObject({ verdict: 'IGNORED', reason: 'auto_preview is off' });
  const [preview] = await previewsOf(request);
  expect(preview).toMatchObject({ mode: 'PREVIEW', name: `PR ${request.number} shop: live` });
  const copy = await copyOf(request, 'web');
  expect(copy).toMatchObject({ auto_deploy: false, auto_preview: false, git_repository: { branch: request.branch } });
  const neighbour = await copyOf(request, 'other');
  expect(neighbour.git_repository?.branch).toBe('main');
  await fixture.eventually(async () => (await fixture.commitOf(copy.id)) === second, 'the preview');
  await fixture.eventually(async () => (await fixture.commitOf(neighbour.id)) === first, 'its neighbour');
  const databases = await fixture.api.call('listDatabase', { params: { environmentId: preview?.id ?? '' } });
  expect(databases.results).toMatchObject([{ name: 'store' }]);
  const { events } = await fixture.api.call('getOrganizationEvents', {
    params: { organizationId: fixture.owner.id },
    query: { targetId: preview?.id ?? '' },
  });
  expect(events.map(({ event_type, origin }) => [event_type, origin])).toContainEqual(['CLONE', 'GIT']);

  const third = request.push({ 'web/index.html': 'three' });
  await request.tell(web, 'synchronize');
  await fixture.eventually(async () => (await fixture.commitOf(copy.id)) === third, 'the preview of the second push');
  expect(await previewsOf(request)).toHaveLength(1);
  await request.tell(web, 'edited');
  expect(await fixture.verdictOf(web)).toMatchObject({
    verdict: 'IGNORED',
    reason: expect.stringContaining('has this commit already'),
  });
  expect(await fixture.commitOf(web)).toBe(first);

  await request.tell(web, 'closed', { merged: true });
  expect(await fixture.verdictOf(web)).toMatchObject({
    verdict: 'PREVIEW_REMOVED',
    reason: expect.stringContaining('was merged'),
  });
  await gone(request);
  expect(fixture.fake.instances.filter(({ environment }) => environment === preview?.id)).toEqual([]);
  expect((await environments()).some(({ id }) => id === environmentId)).toBe(true);

  await request.tell(web, 'reopened');
  await fixture.verdictOf(web);
  await fixture.eventually(async () => (await previewsOf(request)).length === 1, 'a new preview');
  await request.tell(web, 'closed');
  await gone(request);
});

test('services that share the repository share the preview, one for each environment', async () => {
  const repository = fixture.repository();
  repository.commit('first', files);
  const environmentId = await fixture.environment();
  const web = await fixture.application(environmentId, repository, {
    name: 'web',
    auto_preview: true,
    git_repository: { root_path: '/web' },
  });
  const api = await fixture.application(environmentId, repository, {
    name: 'api',
    auto_preview: true,
    git_repository: { root_path: '/api' },
  });
  const apart = await fixture.application(await fixture.environment(), repository, { name: 'apart', auto_preview: true });
  const request = new PullRequest(repository);
  request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  expect(await fixture.verdictOf(api)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('/api') });
  expect(await fixture.verdictOf(apart)).toMatchObject({ verdict: 'PREVIEWED' });
  expect(await previewsOf(request)).toHaveLength(2);
  expect((await copyOf(request, 'api')).git_repository?.branch).toBe('main');
  const both = request.push({ 'api/index.ts': 'two' });
  await request.tell(web, 'synchronize');
  expect(await fixture.verdictOf(api)).toMatchObject({ verdict: 'PREVIEWED' });
  const copy = await copyOf(request, 'api');
  expect(copy.git_repository?.branch).toBe(request.branch);
  await fixture.eventually(async () => (await fixture.commitOf(copy.id)) === both, 'the newly touched service');
  await request.tell(web, 'closed');
  await gone(request);
});

test('what gets no preview says why', async () => {
  const repository = fixture.repository();
  repository.commit('first', files);
  const on = { auto_preview: true };
  const fits = await fixture.application(await fixture.environment(), repository, { ...on, git_repository: { branch: 'next' } });
  const environmentId = await fixture.environment();
  const demanded = await fixture.application(environmentId, repository, on);
  const day = { timezone: 'UTC', start_time: '1970-01-01T08:00:00Z', stop_time: '1970-01-01T18:00:00Z', weekdays: [] };
  await fixture.api.call('editEnvironmentDeploymentRule', {
    params: { environmentId, deploymentRuleId: environmentId },
    body: { ...day, on_demand_preview: true },
  });
  const docs = await fixture.application(await fixture.environment(), repository, {
    ...on,
    git_repository: { root_path: '/docs' },
  });
  const request = new PullRequest(repository);
  request.push({ 'web/index.html': 'two' });
  await request.tell(fits, 'opened');
  expect(await fixture.verdictOf(fits)).toMatchObject({
    verdict: 'IGNORED',
    reason: 'it follows the branch next; the request goes to main',
  });
  expect(await fixture.verdictOf(demanded)).toMatchObject({
    verdict: 'IGNORED',
    reason: expect.stringContaining('on_demand_preview'),
  });
  expect(await fixture.verdictOf(docs)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('/docs') });
  await request.tell(fits, 'labeled');
  expect(await fixture.newest(fits)).toMatchObject({ kind: 'OTHER' });
  await request.tell(fits, 'closed');
  expect(await fixture.newest(fits)).toMatchObject({ status: 'DONE', reason: 'there is no preview of it' });
  expect(await previewsOf(request)).toEqual([]);
});

test('code of another repository is not run unless the operator allows it, and then without the git token', async () => {
  const { web, request } = await previewed();
  request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened', { fork: 'mallory/shop' });
  expect(await fixture.verdictOf(web)).toMatchObject({
    verdict: 'IGNORED',
    reason: expect.stringContaining('DAVIT_PREVIEW_FORKS'),
  });
  expect(await previewsOf(request)).toEqual([]);
});

test('an environment has no more previews than are allowed, and no preview of a preview', async () => {
  const { repository, web } = await previewed();
  const requests = Array.from({ length: 4 }, () => new PullRequest(repository));
  for (const request of requests) {
    request.push({ 'web/index.html': `of ${request.number}` });
    await request.tell(web, 'opened');
  }
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('3 are allowed') });
  for (const request of requests) await request.tell(web, 'closed');
  await fixture.newest(web);
  for (const request of requests) await gone(request);
});

const expire = statement('test_preview_expire', `update git_preview set expires_at = clock_timestamp() where state = 'OPEN'`);
const states = statement<{ state: string; why: string }>(
  'test_preview_states',
  'select state, why_closed as why from git_preview order by created_at desc',
);

test('a preview whose time is over is removed, and a push makes a new one', async () => {
  const { web, request } = await previewed();
  request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'PREVIEWED' });
  await fixture.server.database.database.run(expire);
  await gone(request);
  await fixture.eventually(async () => {
    clock.look();
    return (await fixture.server.database.database.many(states))[0]?.state === 'CLOSED';
  }, 'the end of the preview');
  expect((await fixture.server.database.database.many(states))[0]).toEqual({ state: 'CLOSED', why: 'EXPIRED' });
  request.push({ 'web/index.html': 'three' });
  await request.tell(web, 'synchronize');
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'PREVIEWED' });
  expect(await previewsOf(request)).toHaveLength(1);
});

test('a preview that somebody deleted does not come back by a push', async () => {
  const { web, request } = await previewed();
  request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  await fixture.verdictOf(web);
  const [preview] = await previewsOf(request);
  await fixture.api.call('deleteEnvironment', { params: { environmentId: preview?.id ?? '' } });
  await gone(request);
  request.push({ 'web/index.html': 'three' });
  await request.tell(web, 'synchronize');
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('was deleted') });
});

test('a name that is taken is told, and leaves nothing behind', async () => {
  const repository = fixture.repository('named');
  repository.commit('first', files);
  const web = await fixture.application(await fixture.environment('taken'), repository, { name: 'web', auto_preview: true });
  const request = new PullRequest(repository);
  await fixture.environment(`PR ${request.number} named: taken`);
  request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'FAILED', reason: expect.stringContaining('name') });
  expect(await previewsOf(request)).toHaveLength(1);
});

const minuteLater = statement(
  'test_preview_minute_later',
  'update git_event set due_at = clock_timestamp() where due_at is not null',
);

test('a preview is made when the database is back', async () => {
  const { web, request } = await previewed();
  const second = request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  const { database } = fixture.server.database;
  let failures = 1;
  const worker = fixture.newWorker(failingDatabase(database, (requested) => requested === settleVerdict && (failures -= 1) >= 0));
  worker.look();
  await worker.stop();
  expect(await previewsOf(request)).toEqual([]);
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: web } });
  expect(results).toMatchObject([{ status: 'WAITING', reason: expect.stringContaining('database'), verdicts: [] }]);
  await database.run(minuteLater);
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'PREVIEWED', git_commit_id: second });
  expect(await previewsOf(request)).toHaveLength(1);
});

test('a push to a branch that a preview has is left to the pull request', async () => {
  const { web, request } = await previewed();
  const second = request.push({ 'web/index.html': 'two' });
  await request.tell(web, 'opened');
  await fixture.verdictOf(web);
  const copy = await copyOf(request, 'web');
  const third = request.push({ 'web/index.html': 'three' });
  await fixture.send(await fixture.webhook(web), 'push', pushOf(third, { ref: `refs/heads/${request.branch}`, before: second }));
  expect(await fixture.verdictOf(copy.id)).toMatchObject({ verdict: 'IGNORED', reason: 'auto_deploy is off' });
});
