import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statement } from '../packages/db/src/index.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { processTexts } from './support/davit.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

/** An image built with an ARG named like the secret, and a process that prints the secret in several forms. */
const files = {
  Dockerfile: [
    `FROM ${busybox}`,
    'ARG PASSWORD',
    'RUN echo "argument: $PASSWORD"',
    'COPY index.html /www/',
    'CMD ["sh", "-c", "echo plain $PASSWORD; echo -n $PASSWORD | base64; exec httpd -f -p 3000 -h /www"]',
    '',
  ].join('\n'),
  'index.html': 'ok\n',
};

/** Reads all rows of all tables as text, with binary columns as hexadecimal digits. */
const everyRow = statement<{ rows: string }>(
  'e2e_every_row',
  `SELECT query_to_xml(format('SELECT t::text AS row FROM %I.%I t', table_schema, table_name), true, false, '')::text AS rows
     FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`,
);

describe.each(testEngineKinds())('a secret on %s', (kind) => {
  const canary = `canary-${randomBytes(12).toString('hex')}`;
  const base64 = Buffer.from(canary).toString('base64').replace(/=+$/, '');
  const hex = Buffer.from(canary).toString('hex');
  let setup: TestSetup;
  let id: string;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_LOG_LEVEL: 'trace', DAVIT_LOG_REQUESTS: 'true' });
    const { url } = setup.repository('canary', files);
    id = await setup.application('canary', url, {
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
      memory: 64,
    });
    await setup.davit.client.call('createApplicationSecret', {
      params: { applicationId: id },
      body: { key: 'PASSWORD', value: canary },
    });
    await setup.davit.client.call('createApplicationEnvironmentVariable', {
      params: { applicationId: id },
      body: { key: 'URL', value: 'postgres://me:{{PASSWORD}}@db' },
    });
    await setup.deploy(id);
  });
  afterAll(async () => {
    await setup?.close();
  });

  /** Returns the names of the texts that contain the secret. */
  const leaksIn = (texts: Readonly<Record<string, string>>): string[] =>
    Object.keys(texts).filter((name) => [canary, base64, hex].some((form) => texts[name]?.includes(form)));

  test('reaches the process', async () => {
    const [container] = await setup.containers(id);
    const { Config } = await setup.docker.getContainer(container?.Id ?? '').inspect();
    expect(Config.Env).toContain(`PASSWORD=${canary}`);
    expect(Config.Env).toContain(`URL=postgres://me:${canary}@db`);
  });

  test('is not in the database in clear', async () => {
    const dump = (await setup.davit.database.database.many(everyRow)).map((table) => table.rows).join('\n');
    expect(dump).toContain('PASSWORD');
    expect(leaksIn({ dump })).toEqual([]);
  });

  test('is not in what the process printed, as it is read by the API', async () => {
    const text = await eventually(async () => {
      const { results } = await setup.davit.client.call('listApplicationLog', { params: { applicationId: id } });
      return results.some((line) => line.message.startsWith('plain')) ? JSON.stringify(results) : undefined;
    }, 'the output');
    expect(text).toContain('[REDACTED]');
    expect(leaksIn({ text })).toEqual([]);
  });

  test('is not in build log, responses, server log, process list or build history', async () => {
    const { client } = setup.davit;
    const params = { applicationId: id };
    const { environmentId } = setup;
    const [container] = await setup.containers(id);
    const image = setup.docker.getImage(container?.ImageID ?? '');
    const leaks = leaksIn({
      deploymentLog: await setup.log(),
      serverLog: setup.davit.output,
      processes: processTexts(),
      imageHistory: JSON.stringify(await image.history()),
      image: JSON.stringify(await image.inspect()),
      secrets: JSON.stringify(await client.call('listApplicationSecrets', { params })),
      variables: JSON.stringify(await client.call('listApplicationEnvironmentVariable', { params })),
      application: JSON.stringify(await client.call('getApplication', { params })),
      status: JSON.stringify(await client.call('getApplicationStatus', { params })),
      history: JSON.stringify(await client.call('listApplicationDeploymentHistoryV2', { params })),
      services: JSON.stringify(await client.call('listServicesByEnvironmentId', { params: { environmentId } })),
      plan: JSON.stringify(await client.call('deployApplication', { params, query: { dry_run: true } })),
    });
    expect(leaks).toEqual([]);
  });
});
