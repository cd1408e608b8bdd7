import { statement } from '@davit/db';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followRepositories, type PollClock } from './index.ts';
import { GitFixture, pushOf } from './testing.ts';

let fixture: GitFixture;
let clocks: readonly PollClock[];
beforeAll(async () => {
  // Repositories are polled when the tests want it. `due` makes them due.
  fixture = await GitFixture.open({ DAVIT_GIT_POLL_SECONDS: '3600' });
  const log = { warn: (details: object, message: string) => console.warn(message, details) };
  // The database sees two processes.
  const timing = { findEveryMilliseconds: 0 };
  clocks = [1, 2].map(() => followRepositories(fixture.server.api.deps, log, timing));
});
afterAll(async () => {
  for (const clock of clocks) await clock.stop();
  await fixture.close();
});

const due = statement('test_poll_due', `update git_repository set next_poll_at = clock_timestamp()`);
interface Polled {
  readonly polled_at: string | null;
  readonly failures: number;
  readonly failure: string | null;
  readonly pause: number;
  readonly head: string | null;
}
const polled = statement<Polled>(
  'test_poll_read',
  `select polled_at, failures, failure, extract(epoch from next_poll_at - clock_timestamp())::integer as pause, heads ->> 'main' as head
     from git_repository where repository = $1`,
);

/** Polls all repositories repeatedly until the condition holds for one of them. */
function until(repository: string, holds: (row: Polled) => boolean): Promise<Polled> {
  const { database } = fixture.server.database;
  return fixture.found(async () => {
    const row = await database.maybe(polled, [repository]);
    if (row !== undefined && holds(row)) return row;
    await database.run(due);
    for (const clock of clocks) clock.look();
    return undefined;
  }, 'the poll');
}

const eventsOf = async (serviceId: string) => (await fixture.api.call('listServiceGitEvents', { params: { serviceId } })).results;

test('a push that nobody told of is found once and deployed', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', { 'web/index.html': 'one' });
  const id = await fixture.deployed(repository);
  const other = await fixture.deployed(repository, { auto_deploy: false });
  await until(repository.folder, ({ head }) => head === first);
  expect(await eventsOf(id)).toEqual([]);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const { polled_at } = await until(repository.folder, ({ head }) => head === second);
  expect(await fixture.newest(id)).toMatchObject({ source: 'POLLING', kind: 'PUSH', branch: 'main', git_commit_id: second });
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'DEPLOYED' });
  await fixture.eventually(async () => (await fixture.commitOf(id)) === second, 'the commit that was found');
  expect(await fixture.commitOf(other)).toBe(first);
  await until(repository.folder, (row) => row.polled_at !== polled_at);
  expect(await eventsOf(id)).toHaveLength(1);
});

test('what a webhook told of is not found again, and such a repository is looked at more rarely', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', { 'web/index.html': 'one' });
  const id = await fixture.deployed(repository);
  const before = await until(repository.folder, ({ head, pause }) => head === first && pause > 1800);
  const second = repository.commit('second', { 'web/index.html': 'two' });
  await fixture.send(await fixture.webhook(id), 'push', pushOf(second, { before: first }));
  await fixture.verdictOf(id);
  // A poll that began before the webhook arrived still has the shorter pause. The next poll has the longer one.
  const after = await until(repository.folder, ({ head, pause }) => head === second && pause > before.pause * 9);
  expect(after.failures).toBe(0);
  expect(await eventsOf(id)).toHaveLength(1);
});

test('a rewritten history that is found deploys nothing', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', { 'web/index.html': 'one' });
  const second = repository.commit('second', { 'web/index.html': 'two' });
  const id = await fixture.deployed(repository);
  await until(repository.folder, ({ head }) => head === second);
  repository.git('reset', '--quiet', '--hard', first);
  const rewritten = repository.commit('another second', { 'web/index.html': 'other' });
  await until(repository.folder, ({ head }) => head === rewritten);
  expect(await fixture.verdictOf(id)).toMatchObject({ verdict: 'IGNORED', reason: expect.stringContaining('rewrote') });
});

test('a repository that does not answer is asked with growing pauses, and says why', async () => {
  const repository = fixture.repository();
  repository.commit('first');
  const id = await fixture.deployed(repository);
  const url = `${repository.folder}-gone`;
  await fixture.api.call('editApplication', { params: { applicationId: id }, body: { git_repository: { url } } });
  const once = await until(url, ({ failures, pause }) => failures > 0 && pause > 1800);
  expect(once.failure).toContain('-gone');
  expect(once.pause).toBeGreaterThan(3500);
  const twice = await until(url, ({ failures, pause }) => failures > once.failures && pause > 1800);
  expect(twice.polled_at).toBeNull();
});
