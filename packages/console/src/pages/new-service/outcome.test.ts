import { expect, test, vi } from 'vitest';
import { newKinds } from './kinds.ts';
import { factsOf, guideOf } from './outcome.ts';

vi.mock('../../api.ts', () => ({ api: () => ({}) }));

const application = {
  name: 'api',
  git_repository: { url: 'https://git.example.org/shop.git', branch: 'main' },
  auto_deploy: true,
  ports: [
    { internal_port: 8080, publicly_accessible: true },
    { internal_port: 9090, publicly_accessible: false },
  ],
  min_running_instances: 1,
  max_running_instances: 3,
  cpu: 500,
  memory: 1536,
};
const wordsOf = (...given: Parameters<typeof factsOf>): Record<string, string> => Object.fromEntries(factsOf(...given));

test('what a new application will be follows from the form', () => {
  expect(wordsOf('APPLICATION', application)).toEqual({
    Source: 'https://git.example.org/shop.git, branch main',
    Deploys: 'At each push to the branch',
    'Reached by': 'Everybody; the process listens on port 8080',
    Size: '1 to 3 instances by load, each with 0.5 cores and 1.5 GiB',
  });
  const other = { ...application, git_repository: {}, auto_deploy: false, max_running_instances: 1, ports: [] };
  expect(wordsOf('APPLICATION', other)).toEqual({
    Deploys: 'When somebody deploys it',
    'Reached by': 'Nobody: it has no port',
    Size: '1 instance with 0.5 cores and 1.5 GiB',
  });
});

test('each kind says something with its first values, and nothing about a number that is none', () => {
  for (const { type, initial } of newKinds) expect([type, factsOf(type, initial).length]).not.toEqual([type, 0]);
  expect(wordsOf('DATABASE', { type: 'REDIS', version: '7', mode: 'CONTAINER', cpu: 'much', memory: 512, storage: 10 })).toEqual({
    Database: 'Redis 7',
    'Reached by': 'Services of its environment',
    Backups: 'Only those that somebody asks for',
  });
  const job = { _job: 'cron', max_nb_restart: 2, schedule: { cronjob: { scheduled_at: '30 2 * * *', timezone: '' } } };
  expect(wordsOf('JOB', job)).toEqual({ Runs: 'At 30 2 * * *, in UTC', 'If it fails': 'It is repeated up to 2 times' });
});

test('the command has what the form sends, and no secret', () => {
  const kind = newKinds.find(({ type }) => type === 'TERRAFORM');
  if (kind === undefined) throw new Error('the kind is missing');
  const tf_vars = [{ key: 'password', value: 'hunter2', secret: true }];
  const { command } = guideOf(kind, 'e', { name: "it's", terraform_variables_source: { tf_vars } });
  expect(command).toBe(
    String.raw`davit api createTerraform environmentId=e --body '{"name":"it'\''s","terraform_variables_source":{"tf_vars":[{"key":"password","value":"…","secret":true}]}}'`,
  );
});
