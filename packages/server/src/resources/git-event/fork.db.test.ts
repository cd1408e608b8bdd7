import { afterAll, beforeAll, expect, test } from 'vitest';
import { GitFixture } from './testing.ts';

let fixture: GitFixture;
beforeAll(async () => {
  fixture = await GitFixture.open({ DAVIT_PREVIEW_FORKS: 'true', DAVIT_PREVIEW_HOURS: '0' });
});
afterAll(() => fixture.close());

test('where the operator allows it, the code of another repository is run, without the git token', async () => {
  const [ours, theirs] = [fixture.repository('shop'), fixture.repository('fork')];
  const base = ours.commit('first', { 'web/index.html': 'one' });
  theirs.git('pull', '--quiet', ours.folder, 'main');
  theirs.git('checkout', '--quiet', '-b', 'feature');
  const head = theirs.commit('from outside', { 'web/index.html': 'two' });
  const token = await fixture.api.call('createGitToken', {
    params: { organizationId: fixture.owner.id },
    body: { name: 'token', type: 'GENERIC', token: 'sesame' },
  });
  const git_repository = { git_token_id: token.id };
  const web = await fixture.application(await fixture.environment('live'), ours, {
    name: 'web',
    auto_preview: true,
    git_repository,
  });
  const pull_request = {
    number: 5,
    title: 'From outside',
    user: { login: 'mallory' },
    head: { ref: 'feature', sha: head, repo: { full_name: 'mallory/shop', clone_url: theirs.folder } },
    base: { ref: 'main', sha: base, repo: { full_name: 'acme/shop', clone_url: ours.folder } },
  };
  await fixture.send(await fixture.webhook(web), 'pull_request', { action: 'opened', number: 5, pull_request });
  expect(await fixture.verdictOf(web)).toMatchObject({ verdict: 'PREVIEWED', git_commit_id: head });
  const { results } = await fixture.api.call('listEnvironment', { params: { projectId: fixture.projectId } });
  const preview = results.find(({ mode }) => mode === 'PREVIEW');
  const copies = await fixture.api.call('listApplication', { params: { environmentId: preview?.id ?? '' } });
  const [copy] = copies.results;
  expect(copy?.git_repository).toMatchObject({ url: theirs.folder, branch: 'feature', git_token_id: null });
  await fixture.eventually(async () => (await fixture.commitOf(copy?.id ?? '')) === head, 'the preview');
});
