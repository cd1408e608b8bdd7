import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';

let server: TestServer;
let client: Client;
let folder: string;
let organizationId: string;
const cloud = '5e0d3f0a-6c1b-4a57-9a53-0f3f7c6a2001';

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'davit-templates-'));
  const file: { templates: object[] } = JSON.parse(
    readFileSync(new URL('../../../data/lifecycle-templates.json', import.meta.url), 'utf8'),
  );
  // Adds a template for clusters of one vendor.
  const more = { ...file.templates[0], id: cloud, name: 'Cloud', cloud_providers: ['AWS'] };
  const own = path.join(folder, 'templates.json');
  writeFileSync(own, JSON.stringify({ ...file, templates: [...file.templates, more] }));
  server = await startTestServer({ environment: { DAVIT_LIFECYCLE_TEMPLATES: own } });
  client = server.client();
  organizationId = (await server.organization()).id;
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function environment(cluster_id?: string): Promise<{ environmentId: string }> {
  const project = await client.call('createProject', { params: { organizationId }, body: { name: randomUUID() } });
  const body = { name: 'live', ...(cluster_id === undefined ? {} : { cluster_id }) };
  return { environmentId: (await client.call('createEnvironment', { params: { projectId: project.id }, body })).id };
}

test('a job made of each template, with its variables, is taken as it is', async () => {
  const at = await environment();
  const { results } = await client.call('listEnvironmentLifecycleTemplates', { params: at });
  expect(results.map(({ name }) => name)).toEqual([
    'Seed a PostgreSQL database',
    'Run a script',
    'Wait for a port',
    'Terraform with a backend of its own',
  ]);
  for (const { id: lifecycleTemplateId, ...brief } of results) {
    const template = await client.call('getEnvironmentLifecycleTemplate', { params: { ...at, lifecycleTemplateId } });
    expect(template).toMatchObject({ id: lifecycleTemplateId, ...brief, cloud_provider: 'ON_PREMISE' });
    const events = template.events.map(({ name, command, ...rest }) => [`on_${name}`, { ...rest, arguments: command }]);
    const git_repository = { url: 'https://git.example.org/shop/jobs.git' };
    const job = await client.call('createJob', {
      params: at,
      body: {
        name: template.name,
        description: template.description,
        healthchecks: {},
        cpu: template.resources.cpu_milli,
        memory: template.resources.ram_mib,
        max_duration_seconds: template.max_duration_in_sec,
        source: { docker: { git_repository, dockerfile_raw: template.dockerfile } },
        schedule: Object.fromEntries(events),
      },
    });
    expect(Object.keys(job.schedule)).toEqual(expect.arrayContaining(events.map(([name]) => name)));
    for (const { name, default: value, file, is_secret, description } of template.variables) {
      const ids = { variable_scope: 'JOB', variable_parent_id: job.id } as const;
      const mount = file === undefined ? {} : { mount_path: file.path, enable_interpolation_in_file: file.enable_interpolation };
      const body = { key: name, value, is_secret, description, ...ids, ...mount };
      expect(await client.call('createVariable', { body })).toMatchObject({ key: name, is_secret });
    }
  }
});

test('a template for clusters of a vendor is seen on these alone', async () => {
  const body = { name: 'live', region: 'eu-west-3', cloud_provider: 'AWS' } as const;
  const cluster = await client.call('createCluster', { params: { organizationId }, body });
  const there = await environment(cluster.id);
  const { results } = await client.call('listEnvironmentLifecycleTemplates', { params: there });
  expect(results.map(({ name }) => name)).toContain('Cloud');
  const read = (params: { environmentId: string }) =>
    client.call('getEnvironmentLifecycleTemplate', { params: { ...params, lifecycleTemplateId: cloud } });
  expect(await read(there)).toMatchObject({ name: 'Cloud', cloud_provider: 'AWS' });
  await expect(read(await environment())).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
});
