import { randomUUID } from 'node:crypto';
import type { Statement } from '@davit/db';
import { makeTestEnvironment, startRunningServer, type RunningServer } from '@davit/testkit/running-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironmentFacts, releasesMark } from '../service/store.ts';
import { readEnvironmentVariables } from '../variable/store.ts';
import { environmentStatus } from './status.ts';

let server: RunningServer;
beforeAll(async () => {
  server = await startRunningServer();
});
afterAll(() => server.close());

test('after any change, the status is the same as one that is computed from scratch', async () => {
  const { api, environmentId, projectId, organization } = await makeTestEnvironment(server);
  const params = { environmentId };
  const { id: registryId } = await server.client(organization.tokens.ADMIN).call('createContainerRegistry', {
    params: { organizationId: organization.id },
    body: { name: 'shared', kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} },
  });
  const { deps } = server.api;
  const db = server.database.database;
  const ids: string[] = [];
  const words = new Set<unknown>();
  const compare = async (): Promise<void> => {
    // While a deployment runs, the state may change between two reads: both are of one snapshot.
    await db.transaction(async (tx) => {
      await tx.run({ name: 'test_one_snapshot', text: 'set transaction isolation level repeatable read' });
      const remembered = await environmentStatus(deps, tx, environmentId);
      expect(remembered).toEqual(await environmentStatus({ ...deps, config: { ...deps.config } }, tx, environmentId));
      words.add(remembered.deployment_status).add(remembered.state);
    });
  };
  const settled = async (): Promise<void> => {
    while ((await api.call('listDeploymentRequestByEnvironmentId', { params })).results.length > 0) await compare();
    for (;;) {
      await compare();
      const { last_deployment_state: state } = await api.call('getEnvironmentStatus', { params });
      if (state === 'DEPLOYED' || state === 'STOPPED' || state === 'RESTARTED') return;
    }
  };
  const create = async (): Promise<void> => {
    const body = { name: `web-${ids.length}`, registry_id: registryId, image_name: 'acme/web', tag: '1', healthchecks: {} };
    ids.push((await api.call('createContainer', { params, body })).id);
  };
  const variable = (scope: 'ENVIRONMENT' | 'PROJECT', parent: string) => async (): Promise<void> => {
    const body = { key: `KEY_${performance.now()}`.replace('.', '_'), value: 'x', is_secret: false };
    await api.call('createVariable', { body: { ...body, variable_scope: scope, variable_parent_id: parent } });
  };
  const deploy = async (): Promise<void> => {
    await api.call('deployEnvironment', { params });
    await settled();
  };
  const stop = async (): Promise<void> => {
    await api.call('stopEnvironment', { params });
    await settled();
  };
  const actions = [create, deploy, stop, variable('ENVIRONMENT', environmentId), variable('PROJECT', projectId)];
  await compare();
  for (const action of [create, deploy]) {
    await action();
    await compare();
  }
  for (let count = 0; count < 15; count += 1) {
    await actions[Math.floor(Math.random() * actions.length)]?.();
    await compare();
    await compare();
  }
  await variable('PROJECT', projectId)();
  await compare();
  expect([...words]).toEqual(expect.arrayContaining(['NEVER_DEPLOYED', 'OUT_OF_DATE', 'UP_TO_DATE', 'DEPLOYED']));
});

test('the mark of releases covers every table that releases are made of', async () => {
  const read = [readEnvironmentFacts, readEnvironmentVariables].map(relationsOf);
  const marked = await relationsOf(releasesMark);
  const groups = ['annotation_group', 'label_group'];
  expect(marked.toSorted()).toEqual([...new Set([...(await Promise.all(read)).flat(), ...groups])].toSorted());
});

/** Returns the tables that a statement reads. */
async function relationsOf({ name, text }: Statement): Promise<string[]> {
  const query = text.replaceAll('$1', `'${randomUUID()}'::uuid`);
  const plan = await server.database.database.many({ name: `test_explain_${name}`, text: `explain (format json) ${query}` });
  const found = JSON.stringify(plan).matchAll(/"Relation Name":"(\w+)"/g);
  return [...new Set([...found].map(([, relation = '']) => relation))];
}
