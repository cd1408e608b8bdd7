import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchFolder } from '../packages/drivers/src/source/testing.ts';
import { databaseClientImage, postgresImage, redisImage } from '../packages/testkit/src/database-images.ts';
import { startTestEngine, testEngineKinds, testRegistryPort } from '../packages/testkit/src/engines.ts';
import { startTestRegistry, type TestRegistry } from '../packages/testkit/src/registry.ts';
import { eventually } from './support/eventually.ts';
import { TestSetup } from './support/setup.ts';

/** A script that responds to each request with the number of requests so far, as counted by PostgreSQL and by Redis. */
const counting = `#!/bin/sh
echo 'Content-Type: text/plain'
echo
psql "$DATABASE_URL" -qAtX -c 'set client_min_messages = warning' -c 'create table if not exists visit (n int)' -c 'insert into visit values (1)' -c 'select count(*) from visit' 2>&1
redis-cli --no-auth-warning -u "$CACHE_URL" incr visits 2>&1
`;
const serving = [
  'sh',
  '-c',
  `mkdir -p /www/cgi-bin && echo "$COUNTING" > /www/cgi-bin/visit && chmod +x /www/cgi-bin/visit && exec httpd -f -p 3000 -h /www`,
];
const own = new URL('../packages/server/data/databases.json', import.meta.url);

describe.each(testEngineKinds())('databases on %s', (kind) => {
  let setup: TestSetup;
  let registry: TestRegistry;
  let folder: ReturnType<typeof scratchFolder>;
  let store: string;
  let cache: string;
  let web: string;

  beforeAll(async () => {
    await startTestEngine(kind);
    registry = await startTestRegistry(await testRegistryPort(), { isOpen: true });
    await registry.pushImage('library/postgres', '15', await postgresImage());
    await registry.pushImage('library/redis', '7', await redisImage());
    await registry.pushImage('library/client', '1', { ...(await databaseClientImage()), command: serving });
    folder = scratchFolder();
    const file = join(folder.path, 'databases.json');
    writeFileSync(file, readFileSync(own, 'utf8').replaceAll('docker.io/', `${registry.address}/`));
    setup = await TestSetup.open(kind, { DAVIT_ALLOW_HTTP_REGISTRIES: 'true', DAVIT_DATABASE_CATALOGUE: file });
    const { organizationId, environmentId, davit } = setup;
    const params = { environmentId };
    const mode = 'CONTAINER' as const;
    store = (
      await davit.client.call('createDatabase', { params, body: { name: 'store', type: 'POSTGRESQL', version: '15', mode } })
    ).id;
    cache = (await davit.client.call('createDatabase', { params, body: { name: 'cache', type: 'REDIS', version: '7', mode } }))
      .id;
    const from = { name: 'own', kind: 'GENERIC_CR' as const, url: registry.url, config: {} };
    const registryId = (await davit.client.call('createContainerRegistry', { params: { organizationId }, body: from })).id;
    const client = {
      name: 'web',
      registry_id: registryId,
      image_name: 'library/client',
      tag: '1',
      memory: 64,
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const }],
    };
    web = (await davit.client.call('createContainer', { params, body: client })).id;
    const at = { params: { containerId: web } };
    await davit.client.call('createContainerEnvironmentVariable', { ...at, body: { key: 'COUNTING', value: counting } });
    await alias('DATABASE_URL', store);
    await alias('CACHE_URL', cache);
  });
  afterAll(async () => {
    await setup?.close();
    await registry?.close();
    folder?.remove();
  });

  /** Gives the container the URL of a database under another key. */
  async function alias(key: string, databaseId: string): Promise<void> {
    const params = { containerId: web };
    const { results } = await setup.davit.client.call('listContainerSecrets', { params });
    const url = results.find((one) => one.service_id === databaseId && one.key.endsWith('_DATABASE_URL'));
    await setup.davit.client.call('createContainerSecretAlias', {
      params: { ...params, secretId: url?.id ?? '' },
      body: { key },
    });
  }

  const newest = async (): Promise<string | undefined> => {
    const { environmentId } = setup;
    const { results } = await setup.davit.client.call('listEnvironmentDeploymentHistoryV2', { params: { environmentId } });
    return results[0]?.identifier.execution_id;
  };

  /** Runs an action that requests a deployment, and waits for the end of the deployment. */
  async function done(ask: () => Promise<unknown>): Promise<void> {
    const former = await newest();
    await ask();
    await setup.idleAfter(async () => (await newest()) !== former);
  }

  const status = (databaseId: string) => setup.davit.client.call('getDatabaseStatus', { params: { databaseId } });
  const visit = async (): Promise<readonly string[]> => {
    const { results } = await setup.davit.client.call('listContainerLinks', { params: { containerId: web } });
    return (await setup.fetch(`${results[0]?.url}/cgi-bin/visit`)).body.trim().split('\n');
  };

  async function volumes(): Promise<readonly string[]> {
    const { Volumes } = await setup.docker.listVolumes();
    const storages = await setup.docker.listContainers({ all: true, filters: { label: [`davit.service=${store}`] } });
    const mounted = storages.flatMap(({ Mounts }) => Mounts.map(({ Name }) => Name ?? ''));
    return Volumes.map(({ Name }) => Name).filter((name) => mounted.includes(name));
  }

  test('come up with their environment, and a container of it connects with what the built-in variables say', async () => {
    const { environmentId } = setup;
    await done(() => setup.davit.client.call('deployEnvironment', { params: { environmentId } }));
    expect([await status(store), await status(cache)]).toMatchObject([
      { state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE', failure: null },
      { state: 'DEPLOYED', service_deployment_status: 'UP_TO_DATE', failure: null },
    ]);
    expect(await visit()).toEqual(['1', '1']);
  });

  test('keep their data through a stop, a deployment with another size and a restart', async () => {
    for (const databaseId of [store, cache]) {
      const params = { databaseId };
      await done(() => setup.davit.client.call('stopDatabase', { params }));
      await setup.davit.client.call('editDatabase', { params, body: { memory: 150 } });
      await done(() => setup.davit.client.call('redeployDatabase', { params }));
      await done(() => setup.davit.client.call('rebootDatabase', { params }));
      expect((await status(databaseId)).state).toBe('RESTARTED');
    }
    expect(await visit()).toEqual(['2', '2']);
  });

  test('answer on a port of this machine once they are public, with their password only', async () => {
    const params = { databaseId: store };
    await setup.davit.client.call('editDatabase', { params, body: { accessibility: 'PUBLIC' } });
    await done(() => setup.davit.client.call('deployDatabase', { params }));
    const { port, login, password } = await setup.davit.client.call('getDatabaseMasterCredentials', { params });
    const connect = async (attempt: string): Promise<unknown> => {
      const client = new Client({ host: '127.0.0.1', port, user: login, password: attempt, database: 'postgres' });
      client.on('error', () => undefined);
      await client.connect();
      const { rows } = await client.query('select count(*)::int as n from visit');
      await client.end();
      return rows[0];
    };
    const found = await eventually(() => connect(password).catch(() => undefined), 'the public port');
    expect(found).toEqual({ n: 2 });
    await expect(connect('guessed')).rejects.toThrow(/password authentication failed/);
    expect(await visit()).toEqual(['3', '3']);
  });

  test('take their volumes with them when they are deleted, and say their passwords in no log', async () => {
    const { password } = await setup.davit.client.call('getDatabaseMasterCredentials', { params: { databaseId: store } });
    const kept = await volumes();
    expect(kept).toHaveLength(1);
    const params = { databaseId: store };
    await done(() => setup.davit.client.call('deleteDatabase', { params }));
    await expect(setup.davit.client.call('getDatabase', { params })).rejects.toMatchObject({ status: 404 });
    const { Volumes } = await setup.docker.listVolumes();
    expect(Volumes.map(({ Name }) => Name)).not.toContain(kept[0]);
    expect(`${await setup.log()}${setup.davit.output}`).not.toContain(password);
  });
});
