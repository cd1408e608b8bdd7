import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { failingDatabase } from '@davit/testkit/failing-database';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { settleVerdict } from './store.ts';
import { GitFixture, pushOf } from './testing.ts';

let fixture: GitFixture;
beforeAll(async () => {
  fixture = await GitFixture.open();
});
afterAll(() => fixture.close());

const files = { 'web/index.html': 'one', 'api/index.ts': 'one', 'README.md': 'one' };

test('a push deploys exactly the pushed commit, told as GIT in the history', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  expect(await fixture.commitOf(id)).toBe(first);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  // A commit that no webhook has reported.
  repository.commit('third', { 'web/index.html': 'three' });
  const answer = await fixture.send(await fixture.webhook(id), 'push', pushOf(second, { before: first }));
  expect(answer).toEqual({ status: 202, body: { message: 'Recorded.' } });
  const verdict = await fixture.verdictOf(id);
  expect(verdict).toMatchObject({ verdict: 'DEPLOYED', git_commit_id: second, reason: `main is now at ${second.slice(0, 12)}` });
  await fixture.eventually(async () => (await fixture.commitOf(id)) === second, 'the pushed commit');
  const { results } = await fixture.api.call('listApplicationDeploymentHistoryV2', { params: { applicationId: id } });
  expect(results[0]).toMatchObject({ auditing_data: { origin: 'GIT', triggered_by: 'git: ada' } });
  expect(await fixture.newest(id)).toMatchObject({
    source: 'WEBHOOK',
    kind: 'PUSH',
    status: 'DONE',
    branch: 'main',
    git_commit_id: second,
    summary: `${second.slice(0, 12)} was pushed to main by ada.`,
  });
  const { events } = await fixture.api.call('getOrganizationEvents', {
    params: { organizationId: fixture.owner.id },
    query: { targetId: id, eventType: 'TRIGGER_DEPLOY' },
  });
  expect(events[0]).toMatchObject({ origin: 'GIT', triggered_by: 'git: ada' });
});

test('a rollback says that the next push replaces it, and so does the push', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  await fixture.deploy(id);
  await fixture.eventually(async () => (await fixture.commitOf(id)) === second, 'the second commit');
  const params = { applicationId: id };
  const { results } = await fixture.api.call('listApplicationDeploymentHistoryV2', { params });
  const release = results.at(-1)?.release_id ?? '';
  await fixture.api.call('deployApplication', { params, body: { release_id: release } });
  await fixture.eventually(async () => (await fixture.commitOf(id)) === first, 'the rollback');
  const { environment } = await fixture.api.call('getApplication', { params });
  const lines = await fixture.api.call('listEnvironmentLogs', { params: { environmentId: environment?.id ?? '' } });
  const remark = 'auto_deploy is on: the next push to main replaces this earlier release. Switch auto_deploy off to keep it.';
  expect(JSON.stringify(lines)).toContain(remark);
  const third = repository.commit('third', { 'web/index.html': 'three' });
  await fixture.send(await fixture.webhook(id), 'push', pushOf(third, { before: second }));
  expect(await fixture.verdictOf(id)).toMatchObject({
    verdict: 'DEPLOYED',
    reason: `main is now at ${third.slice(0, 12)}, which replaces the earlier release at ${first.slice(0, 12)} that the service was rolled back to: auto_deploy is on`,
  });
});

test('services of one environment are deployed together, others of the repository in theirs', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const environmentId = await fixture.environment();
  const together = [await fixture.application(environmentId, repository), await fixture.application(environmentId, repository)];
  const apart = await fixture.deployed(repository);
  for (const id of together) await fixture.deploy(id);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  await fixture.send(await fixture.webhook(apart), 'push', pushOf(second, { before: first }));
  const requests = [];
  for (const id of [...together, apart]) requests.push((await fixture.verdictOf(id)).deployment_request_id);
  expect(requests[0]).toBe(requests[1]);
  expect(new Set(requests).size).toBe(2);
  for (const id of [...together, apart]) {
    await fixture.eventually(async () => (await fixture.commitOf(id)) === second, 'the pushed commit');
  }
});

test('what is not deployed says why', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const follows = await fixture.deployed(repository);
  const other = await fixture.application(await fixture.environment(), repository, { git_repository: { branch: 'next' } });
  const off = await fixture.deployed(repository, { auto_deploy: false });
  const never = await fixture.application(await fixture.environment(), repository);
  const stopped = await fixture.deployed(repository);
  await fixture.api.call('stopApplication', { params: { applicationId: stopped } });
  await fixture.eventually(async () => (await fixture.state(stopped)) === 'STOPPED', 'the stop');
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const address = await fixture.webhook(follows);
  await fixture.send(address, 'push', pushOf(second, { before: first }));
  expect(await fixture.verdictOf(follows)).toMatchObject({ verdict: 'DEPLOYED' });
  expect(await fixture.verdictOf(other)).toMatchObject({ verdict: 'IGNORED', reason: 'it follows the branch next, not main' });
  expect(await fixture.verdictOf(off)).toMatchObject({ verdict: 'IGNORED', reason: 'auto_deploy is off' });
  expect(await fixture.verdictOf(never)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('never deployed') });
  expect(await fixture.verdictOf(stopped)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('stopped') });
  await fixture.send(address, 'push', pushOf(second, { before: first }));
  expect(await fixture.verdictOf(follows)).toMatchObject({
    verdict: 'IGNORED',
    reason: expect.stringContaining('already requested'),
  });
  const { results } = await fixture.api.call('listOrganizationGitEvents', {
    params: { organizationId: fixture.owner.id },
  });
  expect(results[0]?.verdicts).toHaveLength(5);
});

test('a push counts for a service when it touches root_path, or what its restrictions match and do not exclude', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const web = await fixture.deployed(repository, { git_repository: { root_path: '/web' } });
  const matched = await fixture.deployed(repository, { git_repository: { root_path: '/web' } });
  const excluded = await fixture.deployed(repository);
  const restrict = (applicationId: string, mode: 'MATCH' | 'EXCLUDE', value: string) =>
    fixture.api.call('createApplicationDeploymentRestriction', {
      params: { applicationId },
      body: { mode, type: 'PATH', value },
    });
  await restrict(matched, 'MATCH', 'api/**');
  await restrict(excluded, 'EXCLUDE', '**/*.md');
  const address = await fixture.webhook(web);
  const second = repository.commit('only the readme', { 'README.md': 'two' });
  await fixture.send(address, 'push', pushOf(second, { before: first }));
  for (const id of [web, matched, excluded]) {
    expect(await fixture.verdictOf(id)).toMatchObject({
      verdict: 'IGNORED',
      reason: expect.stringContaining('none of the 1 files'),
    });
  }
  const third = repository.commit('the api', { 'api/index.ts': 'two' });
  await fixture.send(address, 'push', pushOf(third, { before: second }));
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('/web') });
  expect(await fixture.verdictOf(matched)).toMatchObject({ verdict: 'DEPLOYED' });
  expect(await fixture.verdictOf(excluded)).toMatchObject({ verdict: 'DEPLOYED' });
});

test('a push that was missed is made up for by the next one, whatever that touches', async () => {
  const repository = fixture.repository();
  repository.commit('first', files);
  const id = await fixture.deployed(repository, { git_repository: { root_path: '/web' } });
  const missed = repository.commit('nobody tells of this', { 'web/index.html': 'two' });
  const reported = repository.commit('only the readme', { 'README.md': 'two' });
  await fixture.send(await fixture.webhook(id), 'push', pushOf(reported, { before: missed }));
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'DEPLOYED', git_commit_id: reported });
});

test('a rewritten history deploys nothing, whether the host tells of it or not', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const id = await fixture.deployed(repository);
  repository.git('reset', '--quiet', '--hard', first);
  const rewritten = repository.commit('another second', { 'web/index.html': 'other' });
  const address = await fixture.webhook(id);
  for (const forced of [true, undefined]) {
    await fixture.send(address, 'push', pushOf(rewritten, { before: second, forced }));
    expect(await fixture.verdictOf(id)).toMatchObject({
      verdict: 'IGNORED',
      reason: expect.stringContaining('rewrote the history'),
    });
  }
  const next = repository.commit('and on', { 'web/index.html': 'next' });
  await fixture.send(address, 'push', pushOf(next, { before: rewritten, forced: undefined }));
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'DEPLOYED', git_commit_id: next });
});

test('tags, deleted branches and other events are in the ledger with their reason', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const address = await fixture.webhook(id);
  await fixture.send(address, 'push', pushOf(first, { ref: 'refs/tags/v1' }));
  expect(await fixture.newest(id)).toMatchObject({
    kind: 'OTHER',
    status: 'DONE',
    reason: expect.stringContaining('tags trigger no deployments'),
  });
  await fixture.send(address, 'push', pushOf('0'.repeat(40), { before: first, deleted: true }));
  expect(await fixture.newest(id)).toMatchObject({
    kind: 'PUSH',
    status: 'DONE',
    reason: expect.stringContaining('was deleted'),
    verdicts: [],
  });
  await fixture.send(address, 'ping', { zen: 'Keep it simple.' });
  expect(await fixture.newest(id)).toMatchObject({ kind: 'OTHER', status: 'DONE', reason: expect.stringContaining('works') });
  expect(await fixture.commitOf(id)).toBe(first);
});

test('a delivery that is repeated, also at the same moment, counts once', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const address = await fixture.webhook(id);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const headers = { 'x-github-delivery': randomUUID() };
  const payload = pushOf(second, { before: first });
  const answers = await Promise.all(Array.from({ length: 5 }, () => fixture.send(address, 'push', payload, headers)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 202));
  expect(answers.filter(({ body }) => body['message'] === 'Recorded.')).toHaveLength(1);
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'DEPLOYED' });
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(results).toHaveLength(1);
});

test('several workers do a thing once, in the order of the pushes', async () => {
  const repository = fixture.repository();
  let before = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const address = await fixture.webhook(id);
  for (const text of ['two', 'three', 'four']) {
    const after = repository.commit(text, { 'web/index.html': text });
    await fixture.send(address, 'push', pushOf(after, { before }));
    before = after;
  }
  const others = [fixture.newWorker(), fixture.newWorker()];
  for (const worker of others) await worker.start(fixture.server.database.connectionString);
  await fixture.newest(id);
  await Promise.all(others.map((worker) => worker.stop()));
  await fixture.eventually(async () => (await fixture.commitOf(id)) === before, 'the newest commit');
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(results.map(({ verdicts }) => verdicts.map(({ verdict }) => verdict))).toEqual([
    ['DEPLOYED'],
    ['DEPLOYED'],
    ['DEPLOYED'],
  ]);
});

test('a recorded push wakes a worker of another process at once, not at its next look', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const address = await fixture.webhook(id);
  const worker = fixture.newWorker(undefined, 3_600_000);
  await worker.start(fixture.server.database.connectionString);
  try {
    const second = repository.commit('second', { 'web/index.html': 'two' });
    await fixture.send(address, 'push', pushOf(second, { before: first }));
    await expect.poll(() => fixture.commitOf(id), { timeout: 30_000, interval: 20 }).toBe(second);
  } finally {
    await worker.stop();
  }
});

test('a service that cannot be deployed says so and does not keep its neighbours from it', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const environmentId = await fixture.environment();
  const [good, bad] = [
    await fixture.application(environmentId, repository),
    await fixture.application(environmentId, repository),
  ];
  for (const id of [good, bad]) await fixture.deploy(id);
  const own = { params: { applicationId: bad }, body: { key: 'ONE', value: '{{OTHER}}' } };
  await fixture.api.call('createApplicationEnvironmentVariable', own);
  await fixture.api.call('createEnvironmentEnvironmentVariable', {
    params: { environmentId },
    body: { key: 'OTHER', value: '{{ONE}}' },
  });
  const second = repository.commit('second', { 'web/index.html': 'two' });
  await fixture.send(await fixture.webhook(good), 'push', pushOf(second, { before: first }));
  expect(await fixture.verdictOf(good)).toMatchObject({ verdict: 'DEPLOYED' });
  expect(await fixture.verdictOf(bad)).toMatchObject({ verdict: 'FAILED', reason: expect.stringContaining('OTHER') });
});

test('a host that does not answer is asked again, and the ledger says so', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository, { git_repository: { root_path: '/web' } });
  const address = await fixture.webhook(id);
  await fixture.send(address, 'push', pushOf('a'.repeat(40), { before: first }));
  const waiting = await fixture.found(async () => {
    const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
    return results.find(({ reason }) => reason !== null);
  }, 'the first attempt');
  expect(waiting).toMatchObject({ status: 'WAITING', reason: expect.stringContaining('has no commit'), verdicts: [] });
});

const claimed = statement(
  'test_git_event_claimed',
  `update git_event set attempts = attempts + 1, due_at = clock_timestamp() + interval '1 minute' where status = 'WAITING'`,
);
const minuteLater = statement(
  'test_git_event_minute_later',
  'update git_event set due_at = clock_timestamp() where due_at is not null',
);

test('what a process took that died is left alone for a minute, then done by another one, once', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const { database } = fixture.server.database;
  const address = await fixture.webhook(id);
  await fixture.send(address, 'push', pushOf(second, { before: first }));
  await database.run(claimed);
  // A later push to the repository has to wait.
  const third = repository.commit('third', { 'web/index.html': 'three' });
  await fixture.send(address, 'push', pushOf(third, { before: second }));
  fixture.worker.look();
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(results.map(({ status }) => status)).toEqual(['WAITING', 'WAITING']);
  await database.run(minuteLater);
  await fixture.newest(id);
  await fixture.eventually(async () => (await fixture.commitOf(id)) === third, 'the newest commit');
  const after = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(after.results.flatMap(({ verdicts }) => verdicts.map(({ verdict }) => verdict))).toEqual(['DEPLOYED', 'DEPLOYED']);
});

const attempted = statement('test_git_event_attempted', `update git_event set attempts = $2 where repository = $1`);

test.each([0, 5])('a push is deployed when the database is back, also after %i attempts', async (attempts) => {
  const repository = fixture.repository();
  const first = repository.commit('first', files);
  const id = await fixture.deployed(repository);
  const { database } = fixture.server.database;
  const second = repository.commit('second', { 'web/index.html': 'two' });
  await fixture.send(await fixture.webhook(id), 'push', pushOf(second, { before: first }));
  expect(await database.run(attempted, [repository.folder, attempts])).toBe(1);
  let failures = 1;
  const worker = fixture.newWorker(failingDatabase(database, (requested) => requested === settleVerdict && (failures -= 1) >= 0));
  worker.look();
  await worker.stop();
  const { results } = await fixture.api.call('listServiceGitEvents', { params: { serviceId: id } });
  expect(results).toMatchObject([{ status: 'WAITING', reason: expect.stringContaining('database'), verdicts: [] }]);
  await database.run(minuteLater);
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'DEPLOYED', git_commit_id: second });
  await fixture.eventually(async () => (await fixture.commitOf(id)) === second, 'the pushed commit');
});
