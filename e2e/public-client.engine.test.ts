import {
  ApplicationActionsApi,
  ApplicationEnvironmentVariableApi,
  ApplicationMainCallsApi,
  ApplicationsApi,
  Configuration,
  EnvironmentsApi,
  GitProviderEnum,
  JobActionsApi,
  JobMainCallsApi,
  JobsApi,
  OrganizationMainCallsApi,
  PortProtocolEnum,
  ProjectsApi,
  StateEnum,
} from 'qovery-typescript-axios';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { token } from './support/davit.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

/* A public client of an API of this shape, unmodified, under the base path of the vocabulary that comes with Davit. */

const dockerfile = (command: string): string => [`FROM ${busybox}`, 'COPY www /www', command, ''].join('\n');
const script = `env > /www/env; exec httpd -f -p 3000 -h /www`;
const outputs = `echo '{"TOKEN": {"value": "fresh", "sensitive": false}}' > /qovery-output/qovery-output.json`;

describe.each(testEngineKinds())('a public client on %s', (kind) => {
  let setup: TestSetup;
  let configuration: Configuration;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '10', DAVIT_VOCABULARY: '/v/public=public' });
    configuration = new Configuration({ basePath: `${setup.davit.url}/v/public`, apiKey: `Token ${token}` });
  });
  afterAll(() => setup?.close());

  test('deploys an application, changes it, and runs a job whose output is a variable', async () => {
    const organizations = (await new OrganizationMainCallsApi(configuration).listOrganization()).data.results ?? [];
    expect(organizations.map(({ id }) => id)).toContain(setup.organizationId);
    const { data: project } = await new ProjectsApi(configuration).createProject(setup.organizationId, { name: 'theirs' });
    const { data: environment } = await new EnvironmentsApi(configuration).createEnvironment(project.id, { name: 'live' });

    const { url } = setup.repository('theirs', {
      Dockerfile: dockerfile(`CMD ["sh", "-c", "${script}"]`),
      'www/index.html': 'by a public client\n',
    });
    const { data: application } = await new ApplicationsApi(configuration).createApplication(environment.id, {
      name: 'web',
      git_repository: { url, branch: 'main', provider: GitProviderEnum.GITHUB },
      dockerfile_path: 'Dockerfile',
      healthchecks: {},
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: PortProtocolEnum.HTTP, is_default: true }],
    });
    expect(application.git_repository?.provider).toBe(GitProviderEnum.GITHUB);
    const variables = new ApplicationEnvironmentVariableApi(configuration);
    await variables.createApplicationEnvironmentVariable(application.id, { key: 'GREETING', value: 'HOSTA' });
    await new ApplicationActionsApi(configuration).deployApplication(application.id);

    const calls = new ApplicationMainCallsApi(configuration);
    await eventually(
      async () => ((await calls.getApplicationStatus(application.id)).data.state === StateEnum.DEPLOYED ? true : undefined),
      'the application is deployed',
      120_000,
    );
    const { data: links } = await calls.listApplicationLinks(application.id);
    const address = links.results?.[0]?.url ?? '';
    expect(await setup.fetch(address)).toEqual({ status: 200, body: 'by a public client\n' });
    const { body: env } = await setup.fetch(new URL('/env', address).href);
    expect(env).toContain('GREETING=HOSTA\n');
    expect(env).toContain(`QOVERY_PROJECT_ID=${project.id}\n`);

    // A client that reads the record and sends it back changes nothing else.
    const { autoscaling: _, ...read } = (await calls.getApplication(application.id)).data;
    const { data: edited } = await calls.editApplication(application.id, { ...read, memory: 256 });
    expect(edited).toMatchObject({ memory: 256, git_repository: read.git_repository });

    const job = await new JobsApi(configuration).createJob(environment.id, {
      name: 'migrate',
      healthchecks: {},
      source: {
        docker: { git_repository: { url, branch: 'main', provider: GitProviderEnum.GITHUB }, dockerfile_path: 'Dockerfile' },
      },
      schedule: { on_start: { entrypoint: '/bin/sh', arguments: ['-c', outputs] } },
    });
    await new JobActionsApi(configuration).deployJob(job.data.id);
    const jobs = new JobMainCallsApi(configuration);
    await eventually(
      async () => ((await jobs.getJobStatus(job.data.id)).data.state === StateEnum.DEPLOYED ? true : undefined),
      'the job has run',
      120_000,
    );
    const { data: all } = await variables.listApplicationEnvironmentVariable(application.id);
    const output = all.results?.find(({ key }) => key.startsWith('QOVERY_OUTPUT_JOB_') && key.endsWith('_TOKEN'));
    expect(output?.value).toBe('fresh');
  }, 300_000);
});
