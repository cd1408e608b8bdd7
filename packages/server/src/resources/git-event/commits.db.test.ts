import { afterAll, beforeAll, expect, test } from 'vitest';
import { GitFixture } from './testing.ts';

let fixture: GitFixture;
beforeAll(async () => {
  fixture = await GitFixture.open();
});
afterAll(() => fixture.close());

test('the commits of the branch of each type of service are listed, newest first', async () => {
  const repository = fixture.repository();
  const first = repository.commit('first', { Dockerfile: 'FROM scratch' });
  repository.git('branch', 'next');
  const second = repository.commit('second\n\nwith a body');
  repository.git('tag', 'v2');
  const environmentId = await fixture.environment();
  const applicationId = await fixture.application(environmentId, repository);
  const all = await fixture.api.call('listApplicationCommit', { params: { applicationId } });
  expect(all.results).toMatchObject([
    { git_commit_id: second, message: 'second\n\nwith a body', author_name: 'Ada', tag: 'v2' },
    { git_commit_id: first, tag: '' },
  ]);
  const from = await fixture.api.call('listApplicationCommit', {
    params: { applicationId },
    query: { startId: first.slice(0, 10) },
  });
  expect(from.results.map(({ git_commit_id }) => git_commit_id)).toEqual([first]);
  const only = await fixture.api.call('listApplicationCommit', { params: { applicationId }, query: { gitCommitId: second } });
  expect(only.results.map(({ git_commit_id }) => git_commit_id)).toEqual([second]);

  const git_repository = { url: repository.folder, branch: 'next' };
  const job = await fixture.api.call('createJob', {
    params: { environmentId },
    body: { name: 'job', healthchecks: {}, source: { docker: { git_repository } }, schedule: { on_start: {} } },
  });
  const chart = await fixture.api.call('createHelm', {
    params: { environmentId },
    body: { name: 'chart', source: { git_repository } },
  });
  const terraform = await fixture.api.call('createTerraform', {
    params: { environmentId },
    body: { name: 'infra', terraform_files_source: { git_repository } },
  });
  const lists = [
    await fixture.api.call('listJobCommit', { params: { jobId: job.id } }),
    await fixture.api.call('listHelmCommit', { params: { helmId: chart.id } }),
    await fixture.api.call('listTerraformCommit', { params: { terraformId: terraform.id } }),
  ];
  for (const { results } of lists) expect(results.map(({ git_commit_id }) => git_commit_id)).toEqual([first]);
  const values = await fixture.api.call('listHelmCommit', { params: { helmId: chart.id }, query: { of: 'values' } });
  expect(values.results).toEqual([]);
});

test('contributors are those who wrote the commits, each once', async () => {
  const repository = fixture.repository();
  repository.commit('first');
  repository.git('commit', '--quiet', '--allow-empty', '--author=Grace Hopper <Grace@example.com>', '--message=second');
  repository.git('commit', '--quiet', '--allow-empty', '--author=Grace <grace@example.com>', '--message=third');
  const applicationId = await fixture.application(await fixture.environment(), repository);
  const { results } = await fixture.api.call('listApplicationContributor', { params: { applicationId } });
  expect(results).toEqual([
    { first_name: 'Grace', email: 'grace@example.com' },
    { first_name: 'Ada', email: 'ada@example.com' },
  ]);
});

test('a repository that cannot be read, or has no such branch, says so', async () => {
  const repository = fixture.repository();
  repository.commit('first');
  const environmentId = await fixture.environment();
  const nowhere = await fixture.application(environmentId, repository, { git_repository: { branch: 'nowhere' } });
  const call = fixture.api.call('listApplicationCommit', { params: { applicationId: nowhere } });
  await expect(call).rejects.toMatchObject({
    status: 400,
    code: 'SOURCE_NOT_USABLE',
    errors: [{ path: 'git_repository.branch' }],
  });
});
