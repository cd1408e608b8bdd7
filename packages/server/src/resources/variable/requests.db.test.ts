import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { failure, makeTestVariables, newApplication, outcomes, type TestVariables } from './testing.ts';

let server: TestServer;
let fixture: TestVariables;
let api: Client;

beforeAll(async () => {
  server = await startTestServer();
  fixture = await makeTestVariables(server);
  api = fixture.api;
});
afterAll(() => server.close());

type Scope = 'PROJECT' | 'ENVIRONMENT' | 'APPLICATION';

function idOf(scope: Scope): string {
  return { PROJECT: fixture.projectId, ENVIRONMENT: fixture.environmentId, APPLICATION: fixture.applicationId }[scope];
}

function create(scope: Scope, key: string, changes: { is_secret?: boolean; value?: string; mount_path?: string } = {}) {
  const body = { key, value: key, is_secret: false, variable_scope: scope, variable_parent_id: idOf(scope), ...changes };
  return api.call('createVariable', { body });
}

test('one list and one set of operations serve variables and secrets of every scope', async () => {
  const plain = await create('PROJECT', 'PLAIN');
  expect(plain).toMatchObject({
    scope: 'PROJECT',
    value: 'PLAIN',
    is_secret: false,
    description: '',
    enable_interpolation_in_file: false,
  });
  const secret = await create('ENVIRONMENT', 'HIDDEN', { is_secret: true, mount_path: '/hidden' });
  expect(secret).toMatchObject({ scope: 'ENVIRONMENT', value: null, is_secret: true, variable_type: 'FILE' });
  const own = await create('APPLICATION', 'OWN');
  expect(own).toMatchObject({ scope: 'APPLICATION', service_id: fixture.applicationId, service_type: 'APPLICATION' });

  const list = async (scope: Scope, is_secret?: boolean): Promise<string[]> => {
    const query = { parent_id: idOf(scope).toUpperCase(), scope, ...(is_secret === undefined ? {} : { is_secret }) };
    const { results } = await api.call('listVariables', { query });
    return results.map((one) => `${one.scope} ${one.key} ${one.is_secret ? 'secret' : one.value}`);
  };
  expect(await list('APPLICATION')).toEqual(
    expect.arrayContaining([
      'PROJECT PLAIN PLAIN',
      'ENVIRONMENT HIDDEN secret',
      'APPLICATION OWN OWN',
      'BUILT_IN DAVIT_ENVIRONMENT_NAME live',
    ]),
  );
  expect(await list('APPLICATION', true)).toEqual(['ENVIRONMENT HIDDEN secret']);
  expect((await list('PROJECT', false)).every((one) => !one.includes('secret') && !one.includes('OWN'))).toBe(true);

  const alias = await api.call('createVariableAlias', {
    params: { variableId: secret.id },
    body: { key: 'ALSO', alias_scope: 'APPLICATION', alias_parent_id: fixture.applicationId },
  });
  expect(alias).toMatchObject({
    is_secret: true,
    value: null,
    aliased_variable: { id: secret.id, value: null, mount_path: '/hidden' },
  });
  const override = await api.call('createVariableOverride', {
    params: { variableId: plain.id },
    body: { value: 'narrow', override_scope: 'ENVIRONMENT', override_parent_id: fixture.environmentId },
  });
  expect(override).toMatchObject({
    key: 'PLAIN',
    value: 'narrow',
    scope: 'ENVIRONMENT',
    overridden_variable: { value: 'PLAIN' },
  });
  for (const [variableId, key] of [
    [plain.id, 'PLAIN'],
    [secret.id, 'HIDDEN'],
    [own.id, 'OWN'],
    [override.id, 'PLAIN'],
  ] as const) {
    const body = { key, description: 'edited', value: null };
    expect(await api.call('editVariable', { params: { variableId }, body })).toMatchObject({ key, description: 'edited' });
  }
  for (const variableId of [plain.id, secret.id, own.id]) await api.call('deleteVariable', { params: { variableId } });
  expect((await list('APPLICATION')).filter((one) => !one.startsWith('BUILT_IN'))).toEqual([]);
  expect(await failure(api.call('deleteVariable', { params: { variableId: override.id } }))).toMatch(/^404 NOT_FOUND/);
});

test('a built-in variable gets an alias by its id, at its own scope or a narrower one', async () => {
  const query = { parent_id: fixture.applicationId, scope: 'APPLICATION' } as const;
  const builtIns = (await api.call('listVariables', { query })).results.filter(({ scope }) => scope === 'BUILT_IN');
  const idOfKey = (key: string): string => builtIns.find((one) => one.key === key)?.id ?? '';
  const alias = (key: string, as: string, scope: Scope) =>
    api.call('createVariableAlias', {
      params: { variableId: idOfKey(key) },
      body: { key: as, alias_scope: scope, alias_parent_id: idOf(scope) },
    });
  expect(await alias('DAVIT_ENVIRONMENT_NAME', 'STAGE', 'ENVIRONMENT')).toMatchObject({
    value: 'live',
    scope: 'ENVIRONMENT',
  });
  expect(await alias('DAVIT_APPLICATION_ID', 'ME', 'APPLICATION')).toMatchObject({ value: fixture.applicationId });
  expect(await failure(alias('DAVIT_APPLICATION_ID', 'ME', 'ENVIRONMENT'))).toMatch(/^404 NOT_FOUND/);
  expect(await failure(alias('DAVIT_ENVIRONMENT_NAME', 'STAGE', 'PROJECT'))).toMatch(/^404 NOT_FOUND/);
});

async function newContainer(): Promise<string> {
  const params = { organizationId: fixture.organization.id };
  const registry = { name: randomUUID(), kind: 'GENERIC_CR', url: 'https://registry.example.org', config: {} } as const;
  const { id } = await api.call('createContainerRegistry', { params, body: registry });
  const body = { name: randomUUID(), registry_id: id, image_name: 'cache', tag: '7' };
  return (await api.call('createContainer', { params: { environmentId: fixture.environmentId }, body })).id;
}

test('the rules are the same for every type of service that has variables', async () => {
  for (const type of ['CONTAINER'] as const) {
    const id = await newContainer();
    const wide = await create('PROJECT', `FOR_${type}`, { is_secret: true });
    const location = { override_scope: type, override_parent_id: id };
    await api.call('createVariableOverride', { params: { variableId: wide.id }, body: { value: 'x', ...location } });
    const vars = [{ name: `OF_${type}`, value: '1', scope: type, is_secret: false }];
    const body = { overwrite: false, vars };
    const query = { service_id: id, service_type: type };
    expect(await api.call('importEnvironmentVariables', { query, body })).toEqual({
      total_variables_to_import: 1,
      successful_imported_variables: vars,
    });
    const { results } = await api.call('listVariables', { query: { parent_id: id, scope: type } });
    const own = results.filter((one) => one.scope === type);
    expect(own).toMatchObject([
      { key: `FOR_${type}`, service_id: id, service_type: type, is_secret: true, value: null, variable_type: 'OVERRIDE' },
      { key: `OF_${type}`, service_id: id, service_type: type, value: '1' },
    ]);
    for (const one of own) await api.call('deleteVariable', { params: { variableId: one.id } });
    const other = { query: { parent_id: id, scope: 'APPLICATION' } } as const;
    expect(await failure(api.call('listVariables', other))).toMatch(/^404 NOT_FOUND/);
  }
});

test('what is wrong with the place of a variable is told with its field', async () => {
  const { id } = await create('ENVIRONMENT', 'PLACED');
  const location = (scope: Scope | 'BUILT_IN' | 'JOB', parent: string) => ({ alias_scope: scope, alias_parent_id: parent });
  const alias = (body: ReturnType<typeof location>) =>
    failure(api.call('createVariableAlias', { params: { variableId: id }, body: { key: 'P', ...body } }));
  expect(await alias(location('PROJECT', fixture.projectId))).toMatch(
    /^400 VALIDATION_FAILED: Validation error: alias_scope must not be wider/,
  );
  expect(await alias(location('ENVIRONMENT', fixture.projectId))).toMatch(
    /^400 INVALID_REFERENCE: alias_parent_id is not the id of an environment/,
  );
  expect(await alias(location('JOB', fixture.applicationId))).toMatch(
    /^400 INVALID_REFERENCE: alias_parent_id is not the id of a service of type JOB/,
  );
  expect(await alias(location('BUILT_IN', fixture.projectId))).toMatch(
    /^400 VALIDATION_FAILED: Validation error: alias_scope must be PROJECT/,
  );
  const params = { projectId: fixture.projectId };
  const sibling = await api.call('createEnvironment', { params, body: { name: randomUUID() } });
  expect(await alias(location('ENVIRONMENT', sibling.id))).toMatch(
    /^400 VALIDATION_FAILED: Validation error: alias_scope names a place that does not see /,
  );
  const override = { value: 'x', override_scope: 'ENVIRONMENT', override_parent_id: fixture.environmentId } as const;
  expect(await failure(api.call('createVariableOverride', { params: { variableId: id }, body: override }))).toMatch(
    /^400 VALIDATION_FAILED: Validation error: override_scope PLACED is defined at this environment itself/,
  );
  const body = { key: 'X', value: '', is_secret: false, variable_scope: 'PROJECT', variable_parent_id: randomUUID() } as const;
  expect(await failure(api.call('createVariable', { body }))).toMatch(
    /^400 INVALID_REFERENCE: variable_parent_id is not the id of a project/,
  );
  const query = { parent_id: fixture.projectId, scope: 'BUILT_IN' } as const;
  expect(await failure(api.call('listVariables', { query }))).toMatch(/^400 VALIDATION_FAILED: Validation error: scope must be/);
  for (const text of ['', '?scope=PROJECT', `?scope=PROJECT&parent_id=abc`, `?scope=NO&parent_id=${fixture.projectId}`]) {
    const headers = { authorization: `Token ${fixture.organization.tokens.READ}` };
    expect((await fetch(`${server.baseUrl}/variable${text}`, { headers })).status).toBe(400);
  }
});

test('another organization sees and changes nothing, and a token of too small a scope changes nothing', async () => {
  const { id } = await create('PROJECT', 'PRIVATE');
  const stranger = (await makeTestVariables(server)).api;
  const reader = server.client(fixture.organization.tokens.DEPLOY);
  const calls = (client: Client): Promise<unknown>[] => [
    client.call('createVariable', {
      body: { key: 'X', value: '', is_secret: false, variable_scope: 'PROJECT', variable_parent_id: fixture.projectId },
    }),
    client.call('importEnvironmentVariables', {
      query: { service_id: fixture.applicationId, service_type: 'APPLICATION' },
      body: { overwrite: true, vars: [] },
    }),
    client.call('editVariable', { params: { variableId: id }, body: { key: 'X' } }),
    client.call('deleteVariable', { params: { variableId: id } }),
    client.call('createVariableAlias', {
      params: { variableId: id },
      body: { key: 'X', alias_scope: 'PROJECT', alias_parent_id: fixture.projectId },
    }),
    client.call('createVariableOverride', {
      params: { variableId: id },
      body: { value: 'X', override_scope: 'ENVIRONMENT', override_parent_id: fixture.environmentId },
    }),
  ];
  const query = { parent_id: fixture.projectId, scope: 'PROJECT' } as const;
  const before = await api.call('listVariables', { query });
  const codes = await Promise.all(calls(stranger).map(async (call) => (await failure(call)).slice(0, 3)));
  expect(codes).toEqual(['400', '404', '404', '404', '404', '404']);
  expect(await failure(stranger.call('listVariables', { query }))).toMatch(/^404/);
  const refusals = await Promise.all(calls(reader).map(failure));
  for (const refusal of refusals) expect(refusal).toMatch(/^403 FORBIDDEN/);
  expect(await api.call('listVariables', { query })).toEqual(before);
});

type Item = { name: string; value: string; scope: Scope; is_secret: boolean };

function item(name: string, value: string, scope: Scope = 'APPLICATION', is_secret = false): Item {
  return { name, value, scope, is_secret };
}

test('an import writes what is new, and with overwrite what is there, and lists what it wrote', async () => {
  const applicationId = await newApplication(api, fixture.environmentId);
  const run = async (overwrite: boolean, vars: Item[]): Promise<string[]> => {
    const body = { overwrite, vars };
    const done = await api.call('importEnvironmentVariable', { params: { applicationId }, body });
    expect(done.total_variables_to_import).toBe(vars.length);
    expect(JSON.stringify(done)).not.toContain('sesame');
    return done.successful_imported_variables.map(({ name }) => name);
  };
  const all = [
    item('I_OWN', '1'),
    item('I_SECRET', 'sesame', 'APPLICATION', true),
    item('I_WIDE', '1', 'ENVIRONMENT'),
    item('I_WIDEST', '1', 'PROJECT'),
  ];
  expect(await run(false, all)).toEqual(['I_OWN', 'I_SECRET', 'I_WIDE', 'I_WIDEST']);
  expect(await run(false, all)).toEqual([]);
  const changed = [
    item('I_OWN', '2'),
    item('I_SECRET', 'sesame 2', 'APPLICATION', true),
    item('I_WIDE', '2'),
    item('I_WIDEST', '2', 'PROJECT'),
  ];
  expect(await run(true, changed)).toEqual(['I_OWN', 'I_SECRET', 'I_WIDE', 'I_WIDEST']);
  // An import does not turn a variable into a secret, or a secret into a variable.
  expect(await run(true, [item('I_OWN', '3', 'APPLICATION', true), item('I_SECRET', 'clear')])).toEqual([]);
  const { results } = await api.call('listVariables', { query: { parent_id: applicationId, scope: 'APPLICATION' } });
  const imported = results
    .filter(({ key }) => key.startsWith('I_'))
    .map((one) => `${one.scope} ${one.variable_type} ${one.key} ${one.value}`);
  expect(imported.sort()).toEqual([
    'APPLICATION OVERRIDE I_WIDE 2',
    'APPLICATION VALUE I_OWN 2',
    'APPLICATION VALUE I_SECRET null',
    'ENVIRONMENT VALUE I_WIDE 1',
    'PROJECT VALUE I_WIDEST 2',
  ]);
});

test('an import with something wrong in it writes nothing and names each place', async () => {
  const body = {
    overwrite: true,
    vars: [
      item('FINE', ''),
      item('1BAD', ''),
      { ...item('BUILT', ''), scope: 'BUILT_IN' as const },
      item('FINE', ''),
      item('LONG', 'x'.repeat(140_000)),
    ],
  };
  const query = { service_id: fixture.applicationId, service_type: 'APPLICATION' } as const;
  const reported = await failure(api.call('importEnvironmentVariables', { query, body }));
  expect(reported).toMatch(/^400 VALIDATION_FAILED: .*vars\.1\.name must be letters/);
  expect(reported).toMatch(
    /vars\.2\.scope must be APPLICATION, ENVIRONMENT or PROJECT.*vars\.3\.name is in the list twice.*vars\.4\.value is too long/,
  );
  const list = { query: { parent_id: fixture.applicationId, scope: 'APPLICATION' } } as const;
  expect((await api.call('listVariables', list)).results.filter(({ key }) => key === 'FINE')).toEqual([]);
  const elsewhere = { service_id: fixture.applicationId, service_type: 'JOB' } as const;
  expect(
    await failure(api.call('importEnvironmentVariables', { query: elsewhere, body: { overwrite: false, vars: [] } })),
  ).toMatch(/^404/);
  const loop = { overwrite: true, vars: [item('LOOP_A', '{{LOOP_B}}'), item('LOOP_B', '{{LOOP_A}}')] };
  expect(await failure(api.call('importEnvironmentVariables', { query, body: loop }))).toMatch(
    /^400 VARIABLE_CYCLE: LOOP_A → LOOP_B → LOOP_A/,
  );
  expect((await api.call('listVariables', list)).results.filter(({ key }) => key.startsWith('LOOP'))).toEqual([]);
});

test('the same key at the same moment is one variable, at every scope', async () => {
  for (const scope of ['PROJECT', 'ENVIRONMENT', 'APPLICATION'] as const) {
    for (let round = 0; round < 5; round += 1) {
      const key = `RACE_${scope}_${round}`;
      const { done, codes } = outcomes(
        await Promise.allSettled([
          create(scope, key, { value: 'a' }),
          create(scope, key, { value: 'b' }),
          create(scope, key, { value: 'c', is_secret: true }),
          create(scope, key, { value: 'd', mount_path: `/race/${scope}/${round}` }),
          create(scope, `${key}_FILE`, { mount_path: `/race/${scope}/${round}` }),
        ]),
      );
      expect(codes.filter((code) => code !== 'KEY_TAKEN' && code !== 'VALIDATION_FAILED')).toEqual([]);
      expect(done).toBeGreaterThan(0);
      const { results } = await api.call('listVariables', { query: { parent_id: idOf(scope), scope } });
      expect(results.filter((one) => one.key === key)).toHaveLength(1);
      expect(results.filter((one) => one.mount_path === `/race/${scope}/${round}`).length).toBeLessThanOrEqual(1);
    }
  }
});

test('what points at a variable that is deleted at the same moment goes with it or is not made', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { id } = await create('PROJECT', `GOING_${round}`);
    const params = { variableId: id };
    const { codes } = outcomes(
      await Promise.allSettled([
        api.call('createVariableAlias', {
          params,
          body: { key: `ALIAS_${round}`, alias_scope: 'APPLICATION', alias_parent_id: fixture.applicationId },
        }),
        api.call('createVariableOverride', {
          params,
          body: { value: 'x', override_scope: 'ENVIRONMENT', override_parent_id: fixture.environmentId },
        }),
        api.call('deleteVariable', { params }),
        api.call('editVariable', { params, body: { key: `GOING_ON_${round}` } }),
        api.call('deleteVariable', { params }),
      ]),
    );
    expect(codes.filter((code) => code !== 'NOT_FOUND')).toEqual([]);
    const { results } = await api.call('listVariables', { query: { parent_id: fixture.applicationId, scope: 'APPLICATION' } });
    expect(results.filter(({ key }) => /^(GOING|ALIAS)/.test(key))).toEqual([]);
  }
});

/** Returns the result of a call that runs during an uncommitted deletion, for which the call waits. */
async function besideDeletion(table: 'variable' | 'project', id: string, call: () => Promise<unknown>): Promise<string> {
  const { database } = server.database;
  const text = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  const meeting = await database.transaction(async (tx) => {
    await tx.run({ name: `test delete ${table}`, text: `DELETE FROM ${table} WHERE id = $1` }, [id]);
    const ended = failure(call());
    while ((await database.many({ name: 'test waiting', text })).length === 0)
      await new Promise((resolve) => setTimeout(resolve, 5));
    // Wrapped in an object, as the transaction would wait for a promise that it returns.
    return { ended };
  });
  return meeting.ended;
}

test('what meets a deletion that is about to be committed waits, and is not made', async () => {
  const { id } = await create('ENVIRONMENT', 'TAKEN');
  const ids = { alias_scope: 'ENVIRONMENT', alias_parent_id: fixture.environmentId } as const;
  const alias = () => api.call('createVariableAlias', { params: { variableId: id }, body: { key: 'TOO_LATE', ...ids } });
  expect(await besideDeletion('variable', id, alias)).toMatch(/^404 NOT_FOUND/);
  const params = { organizationId: fixture.organization.id };
  const project = await api.call('createProject', { params, body: { name: 'going' } });
  const secret = () => api.call('createProjectSecret', { params: { projectId: project.id }, body: { key: 'A', value: 'x' } });
  expect(await besideDeletion('project', project.id, secret)).toMatch(/^404 NOT_FOUND: There is no such project/);
});
