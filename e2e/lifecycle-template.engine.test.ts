import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadBusyboxImage } from '../packages/testkit/src/engine-images.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { busybox, TestSetup } from './support/setup.ts';

/* Jobs made from the templates that come with Davit, as documented in docs/jobs.md. */

describe.each(testEngineKinds())('a lifecycle template on %s', (kind) => {
  let setup: TestSetup;
  let url: string;
  beforeAll(async () => {
    setup = await TestSetup.open(kind);
    await loadBusyboxImage(setup.docker, 'docker.io/library/busybox:1.37');
    url = setup.repository('jobs', { 'readme.txt': 'nothing here\n' }).url;
  });
  afterAll(async () => {
    await setup?.close();
  });

  /** Creates a job from the template with its variables. `values` replaces the values of some variables. */
  async function jobOf(name: string, values: Readonly<Record<string, string>> = {}): Promise<string> {
    const { client } = setup.davit;
    const at = { environmentId: setup.environmentId };
    const { results } = await client.call('listEnvironmentLifecycleTemplates', { params: at });
    const lifecycleTemplateId = results.find((one) => one.name === name)?.id ?? '';
    const template = await client.call('getEnvironmentLifecycleTemplate', { params: { ...at, lifecycleTemplateId } });
    const { id } = await client.call('createJob', {
      params: at,
      body: {
        name,
        healthchecks: {},
        cpu: template.resources.cpu_milli,
        memory: template.resources.ram_mib,
        max_duration_seconds: template.max_duration_in_sec,
        source: { docker: { git_repository: { url, branch: 'main' }, dockerfile_raw: template.dockerfile } },
        schedule: Object.fromEntries(
          template.events.map(({ name: event, command, ...rest }) => [`on_${event}`, { ...rest, arguments: command }]),
        ),
      },
    });
    for (const { name: key, default: value, file, is_secret } of template.variables) {
      const mount = file === undefined ? {} : { mount_path: file.path };
      const ids = { variable_scope: 'JOB', variable_parent_id: id } as const;
      await client.call('createVariable', { body: { key, value: values[key] ?? value, is_secret, ...ids, ...mount } });
    }
    return id;
  }

  async function runs(jobId: string, act: () => Promise<unknown>) {
    const { client } = setup.davit;
    const params = { jobId };
    const latest = async () => (await client.call('listJobDeploymentHistoryV2', { params })).results[0]?.identifier.execution_id;
    const before = await latest();
    await act();
    await setup.idleAfter(async () => (await latest()) !== before);
    const { state, failure } = await client.call('getJobStatus', { params });
    const output = (await client.call('listJobLog', { params, query: {} })).results.map(({ message }) => message);
    return { state, failure, output };
  }

  test('of a script runs it at each event', async () => {
    const jobId = await jobOf('Run a script');
    const { client } = setup.davit;
    expect(await runs(jobId, () => client.call('deployJob', { params: { jobId } }))).toEqual({
      state: 'DEPLOYED',
      failure: null,
      output: ['made ready'],
    });
    expect(await runs(jobId, () => client.call('stopJob', { params: { jobId } }))).toMatchObject({
      state: 'STOPPED',
      output: ['made ready', 'put to rest'],
    });
  });

  test('of waiting ends when something answers', async () => {
    const files = { Dockerfile: `FROM ${busybox}\nCMD ["httpd", "-f", "-p", "8080"]\n` };
    const { url: site } = setup.repository('site', files);
    const ports = [{ internal_port: 8080, publicly_accessible: false }];
    const application = await setup.application('site', site, { ports });
    await setup.deploy(application);
    const host = `app-z${application.slice(0, 8)}`;
    const jobId = await jobOf('Wait for a port', { WAIT_HOST: host, WAIT_PORT: '8080' });
    const { client } = setup.davit;
    expect(await runs(jobId, () => client.call('deployJob', { params: { jobId } }))).toEqual({
      state: 'DEPLOYED',
      failure: null,
      output: [`${host}:8080 answers`],
    });
  });
});
