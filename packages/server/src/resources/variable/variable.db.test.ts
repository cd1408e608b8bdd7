import { randomUUID } from 'node:crypto';
import type { Client } from '@davit/client';
import { startTestServer, type TestServer } from '@davit/testkit/server';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { failure, makeTestVariables, newApplication, type TestVariables } from './testing.ts';

let server: TestServer;
let fixture: TestVariables;
let api: Client;
let ofProject: { readonly params: { readonly projectId: string } };
let ofEnvironment: { readonly params: { readonly environmentId: string } };
let ofApplication: { readonly params: { readonly applicationId: string } };

beforeAll(async () => {
  server = await startTestServer();
  fixture = await makeTestVariables(server);
  const { projectId, environmentId, applicationId } = fixture;
  api = fixture.api;
  ofProject = { params: { projectId } };
  ofEnvironment = { params: { environmentId } };
  ofApplication = { params: { applicationId } };
});
afterAll(() => server.close());

/** Returns value and scope of the variables that an owner lists under a key. */
async function seenBy(location: 'project' | 'environment' | 'application', key: string): Promise<(string | undefined)[]> {
  const lists = {
    project: () => api.call('listProjectEnvironmentVariable', ofProject),
    environment: () => api.call('listEnvironmentEnvironmentVariable', ofEnvironment),
    application: () => api.call('listApplicationEnvironmentVariable', ofApplication),
  };
  const { results } = await lists[location]();
  return results.filter((one) => one.key === key).map(({ scope, value }) => `${scope} ${value}`);
}

test('what stands at a project is seen by all below, what stands at an environment not above', async () => {
  const wide = await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'WIDE', value: 'p' } });
  expect(wide).toMatchObject({ scope: 'PROJECT', variable_type: 'VALUE', value: 'p', owned_by: 'Davit' });
  expect(wide).not.toHaveProperty('service_id');
  const middle = await api.call('createEnvironmentEnvironmentVariable', {
    ...ofEnvironment,
    body: { key: 'MIDDLE', value: 'e' },
  });
  expect(middle).toMatchObject({ scope: 'ENVIRONMENT' });
  for (const location of ['project', 'environment', 'application'] as const)
    expect(await seenBy(location, 'WIDE')).toEqual(['PROJECT p']);
  expect(await seenBy('project', 'MIDDLE')).toEqual([]);
  expect(await seenBy('application', 'MIDDLE')).toEqual(['ENVIRONMENT e']);

  const params = { projectId: fixture.projectId, environmentVariableId: wide.id };
  const body = { key: 'WIDE', value: 'p2', description: 'd' };
  expect(await api.call('editProjectEnvironmentVariable', { params, body })).toMatchObject({ value: 'p2', description: 'd' });
  expect(await seenBy('application', 'WIDE')).toEqual(['PROJECT p2']);
  const below = { params: { environmentId: fixture.environmentId, environmentVariableId: wide.id } };
  expect(await failure(api.call('editEnvironmentEnvironmentVariable', { ...below, body }))).toMatch(
    /^400 VARIABLE_NOT_EDITABLE: WIDE belongs to the project and cannot be changed from this environment/,
  );
  expect(await failure(api.call('deleteEnvironmentEnvironmentVariable', below))).toMatch(/^400 VARIABLE_NOT_EDITABLE/);
  await api.call('deleteProjectEnvironmentVariable', { params });
  expect(await seenBy('application', 'WIDE')).toEqual([]);
  expect(await failure(api.call('deleteProjectEnvironmentVariable', { params }))).toMatch(/^404 NOT_FOUND/);
});

test('every list has the built-in variables of its place, under ids that are the same further down', async () => {
  const project = (await api.call('listProjectEnvironmentVariable', ofProject)).results;
  const environment = (await api.call('listEnvironmentEnvironmentVariable', ofEnvironment)).results;
  const application = (await api.call('listApplicationEnvironmentVariable', ofApplication)).results;
  const builtIns = (list: typeof project): Map<string, string> =>
    new Map(list.filter(({ scope }) => scope === 'BUILT_IN').map(({ key, id }) => [key, id]));
  expect([...builtIns(project).keys()]).toEqual(['DAVIT_ORGANIZATION_ID', 'DAVIT_PROJECT_ID']);
  expect(project.find(({ key }) => key === 'DAVIT_PROJECT_ID')).toMatchObject({
    value: '||Q_PRJ_ID||',
    variable_type: 'BUILT_IN',
  });
  expect(environment.find(({ key }) => key === 'DAVIT_PROJECT_ID')?.value).toBe(fixture.projectId);
  expect(environment.find(({ key }) => key === 'DAVIT_ENVIRONMENT_NAME')).toMatchObject({ value: 'live' });
  expect(environment.find(({ key }) => key.includes('APPLICATION'))).toBeUndefined();
  for (const [key, id] of builtIns(environment)) expect(builtIns(application).get(key)).toBe(id);
  for (const [key, id] of builtIns(project)) expect(builtIns(environment).get(key)).toBe(id);
  const own = application.find(({ key }) => key === 'DAVIT_APPLICATION_ID');
  expect(own).toMatchObject({ service_id: fixture.applicationId, service_type: 'APPLICATION' });

  const params = {
    environmentId: fixture.environmentId,
    environmentVariableId: builtIns(environment).get('DAVIT_PROJECT_ID') ?? '',
  };
  expect(await failure(api.call('editEnvironmentEnvironmentVariable', { params, body: { key: 'X' } }))).toMatch(
    /^400 VARIABLE_NOT_EDITABLE: DAVIT_PROJECT_ID is a built-in/,
  );
  expect(await failure(api.call('createEnvironmentEnvironmentVariableOverride', { params, body: { value: 'x' } }))).toMatch(
    /^400 VARIABLE_NOT_EDITABLE: DAVIT_PROJECT_ID is a built-in/,
  );
  await api.call('createEnvironmentEnvironmentVariableAlias', { params, body: { key: 'SHOP' } });
  expect(await seenBy('application', 'SHOP')).toEqual([`ENVIRONMENT ${fixture.projectId}`]);
});

test('a POST of a key that is there replaces it at a project or environment, and is refused at a service', async () => {
  const body = { key: 'AGAIN', value: 'one', description: 'first' };
  const first = await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body });
  const again = { key: 'AGAIN', value: 'two', mount_path: '/again' };
  const second = await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: again });
  expect(second).toMatchObject({
    id: first.id,
    created_at: first.created_at,
    value: 'two',
    description: null,
    variable_type: 'FILE',
  });
  expect(await seenBy('environment', 'AGAIN')).toEqual(['ENVIRONMENT two']);
  expect(await failure(api.call('createEnvironmentSecret', { ...ofEnvironment, body }))).toMatch(/^409 KEY_TAKEN/);
  expect(await failure(api.call('createApplicationEnvironmentVariable', { ...ofApplication, body }))).toMatch(
    /^409 KEY_TAKEN: AGAIN is inherited from the environment; .* override/,
  );
  await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'ABOVE' } });
  expect(await failure(api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: { key: 'ABOVE' } }))).toMatch(
    /^409 KEY_TAKEN: ABOVE is inherited from the project/,
  );
});

test('an override has the key of what it overrides, follows its renaming and goes with it', async () => {
  const target = await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'LEVEL', value: 'info' } });
  const one = { environmentVariableId: target.id };
  const ofTarget = { params: { ...ofProject.params, ...one } };
  expect(await failure(api.call('createProjectEnvironmentVariableOverride', { ...ofTarget, body: { value: 'x' } }))).toMatch(
    /^400 VALIDATION_FAILED: .*LEVEL is defined at this project itself/,
  );
  const middle = await api.call('createEnvironmentEnvironmentVariableOverride', {
    params: { ...ofEnvironment.params, ...one },
    body: { value: 'debug', description: 'here' },
  });
  expect(middle).toMatchObject({
    key: 'LEVEL',
    value: 'debug',
    variable_type: 'OVERRIDE',
    scope: 'ENVIRONMENT',
    overridden_variable: { id: target.id, key: 'LEVEL', value: 'info', scope: 'PROJECT', variable_type: 'VALUE' },
  });
  const ofMiddle = { params: { ...ofApplication.params, environmentVariableId: middle.id } };
  expect(await failure(api.call('createApplicationEnvironmentVariableOverride', { ...ofMiddle, body: { value: 'x' } }))).toMatch(
    /^400 VALIDATION_FAILED: .*LEVEL of the environment is an override itself/,
  );
  const own = { params: { ...ofApplication.params, ...one } };
  const narrow = await api.call('createApplicationEnvironmentVariableOverride', { ...own, body: { value: 'trace' } });
  expect(narrow).toMatchObject({ scope: 'APPLICATION', service_id: fixture.applicationId });
  expect(await failure(api.call('createApplicationEnvironmentVariableOverride', { ...own, body: {} }))).toMatch(/^409 KEY_TAKEN/);
  expect(await seenBy('application', 'LEVEL')).toEqual(['PROJECT info', 'ENVIRONMENT debug', 'APPLICATION trace']);

  const ofNarrow = { params: { ...ofApplication.params, environmentVariableId: narrow.id } };
  expect(await failure(api.call('editApplicationEnvironmentVariable', { ...ofNarrow, body: { key: 'OTHER' } }))).toMatch(
    /^400 VARIABLE_NOT_EDITABLE: LEVEL overrides a variable and keeps its key/,
  );
  const edited = await api.call('editApplicationEnvironmentVariable', { ...ofNarrow, body: { key: 'LEVEL', value: 'warn' } });
  expect(edited).toMatchObject({ value: 'warn', variable_type: 'OVERRIDE' });

  await api.call('createApplicationEnvironmentVariable', { ...ofApplication, body: { key: 'IN_THE_WAY' } });
  expect(await failure(api.call('editProjectEnvironmentVariable', { ...ofTarget, body: { key: 'IN_THE_WAY' } }))).toMatch(
    /^409 KEY_TAKEN/,
  );
  await api.call('editProjectEnvironmentVariable', { ...ofTarget, body: { key: 'LOG_LEVEL' } });
  expect(await seenBy('application', 'LOG_LEVEL')).toEqual(['PROJECT info', 'ENVIRONMENT debug', 'APPLICATION warn']);
  await api.call('deleteProjectEnvironmentVariable', ofTarget);
  expect(await seenBy('application', 'LOG_LEVEL')).toEqual([]);
});

test('an alias is at the scope of its target or narrower, and can be overridden', async () => {
  const target = await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: { key: 'HOST', value: 'h' } });
  const one = { environmentVariableId: target.id };
  const params = { ...ofProject.params, ...one };
  expect(await failure(api.call('createProjectEnvironmentVariableAlias', { params, body: { key: 'WIDER' } }))).toMatch(
    /^400 VALIDATION_FAILED: .*must not be wider than where HOST is defined: this project does not see it/,
  );
  const alias = await api.call('createEnvironmentEnvironmentVariableAlias', {
    params: { ...ofEnvironment.params, ...one },
    body: { key: 'DB_HOST' },
  });
  expect(alias).toMatchObject({ scope: 'ENVIRONMENT', value: 'h', aliased_variable: { id: target.id, value: 'h' } });
  const override = await api.call('createApplicationEnvironmentVariableOverride', {
    params: { ...ofApplication.params, environmentVariableId: alias.id },
    body: { value: 'mine' },
  });
  expect(override).toMatchObject({ key: 'DB_HOST', value: 'mine', overridden_variable: { variable_type: 'ALIAS', value: 'h' } });
  await api.call('deleteEnvironmentEnvironmentVariable', { params: { ...ofEnvironment.params, ...one } });
  expect(await seenBy('application', 'DB_HOST')).toEqual([]);
});

test('a file is overridden at the same path, and becomes a value and a file again by its path', async () => {
  const body = { key: 'CONFIG', value: 'wide', mount_path: '/etc/config', enable_interpolation_in_file: true };
  const file = await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body });
  const one = { environmentVariableId: file.id };
  const own = { params: { ...ofApplication.params, ...one } };
  const override = await api.call('createApplicationEnvironmentVariableOverride', {
    ...own,
    body: { value: 'x'.repeat(200_000) },
  });
  expect(override).toMatchObject({ mount_path: '/etc/config', variable_type: 'OVERRIDE', enable_interpolation_in_file: true });
  const ofOverride = { params: { ...ofApplication.params, environmentVariableId: override.id } };
  const elsewhere = { key: 'CONFIG', mount_path: '/elsewhere' };
  expect(await failure(api.call('editApplicationEnvironmentVariable', { ...ofOverride, body: elsewhere }))).toMatch(
    /^400 VARIABLE_NOT_EDITABLE: CONFIG is mounted where/,
  );
  const echo = { key: 'CONFIG', value: 'narrow', mount_path: '/etc/config' };
  expect(await api.call('editApplicationEnvironmentVariable', { ...ofOverride, body: echo })).toMatchObject({ value: 'narrow' });

  const ofFile = { params: { ...ofEnvironment.params, ...one } };
  const edit = (mount_path: string | null) =>
    api.call('editEnvironmentEnvironmentVariable', { ...ofFile, body: { key: 'CONFIG', mount_path } });
  expect(await edit('/etc/other')).toMatchObject({ variable_type: 'FILE', mount_path: '/etc/other', value: 'wide' });
  expect(await edit(null)).toMatchObject({ variable_type: 'VALUE', mount_path: null });
  for (const path of ['relative', '/.', '/etc/.', '/etc/']) {
    expect(await failure(edit(path))).toMatch(/^400 VALIDATION_FAILED: Validation error: mount_path must be the absolute path/);
  }
  expect(await edit('/etc/config')).toMatchObject({ variable_type: 'FILE' });
});

test('secrets have the same operations at every scope, and never show a value', async () => {
  const canary = `canary-${randomUUID()}`;
  const body = { key: 'TOKEN', value: canary, mount_path: '/run/token', description: 'd' };
  const secret = await api.call('createProjectSecret', { ...ofProject, body });
  expect(secret).toMatchObject({ scope: 'PROJECT', variable_type: 'FILE', mount_path: '/run/token' });
  const one = { secretId: secret.id };
  const alias = await api.call('createEnvironmentSecretAlias', {
    params: { ...ofEnvironment.params, ...one },
    body: { key: 'T' },
  });
  expect(alias).toMatchObject({ variable_type: 'ALIAS', aliased_secret: { id: secret.id, key: 'TOKEN', description: 'd' } });
  const override = await api.call('createApplicationSecretOverride', {
    params: { ...ofApplication.params, ...one },
    body: { value: `${canary}-2` },
  });
  expect(override).toMatchObject({ variable_type: 'OVERRIDE', overridden_secret: { id: secret.id, scope: 'PROJECT' } });
  const edit = { key: 'TOKEN', value: `${canary}-3` };
  const edited = await api.call('editProjectSecret', { params: { ...ofProject.params, ...one }, body: edit });
  const lists = [
    await api.call('listProjectSecrets', ofProject),
    await api.call('listEnvironmentSecrets', ofEnvironment),
    await api.call('listApplicationSecrets', ofApplication),
  ];
  expect(lists.map(({ results }) => results.filter(({ key }) => key === 'TOKEN' || key === 'T').length)).toEqual([1, 2, 3]);
  const all = await api.call('listVariables', { query: { parent_id: fixture.applicationId, scope: 'APPLICATION' } });
  expect(all.results.filter(({ key }) => key === 'T')).toMatchObject([
    { is_secret: true, value: null, aliased_variable: { value: null } },
  ]);
  expect(JSON.stringify([secret, alias, override, edited, lists, all])).not.toContain(canary);
  const asVariable = { params: { ...ofProject.params, environmentVariableId: secret.id } };
  expect(await failure(api.call('editProjectEnvironmentVariable', { ...asVariable, body: { key: 'X' } }))).toMatch(/^404/);
  expect(await failure(api.call('createProjectEnvironmentVariableAlias', { ...asVariable, body: { key: 'X' } }))).toMatch(/^404/);
  await api.call('deleteProjectSecret', { params: { ...ofProject.params, ...one } });
  expect((await api.call('listApplicationSecrets', ofApplication)).results).toEqual([]);
});

test('a secret file with the longest path can be deleted', async () => {
  // Characters of three bytes, in an order that compresses badly.
  const name = (folder: number): string =>
    String.fromCodePoint(...Array.from({ length: 80 }, (_, at) => 0x4e00 + (((folder * 80 + at) * 7919) % 20_000)));
  const mountPath = `/${Array.from({ length: 12 }, (_, folder) => name(folder)).join('/')}`;
  const body = { key: 'DEEP', value: 's', mount_path: mountPath };
  const { id: secretId } = await api.call('createApplicationSecret', { ...ofApplication, body });
  const params = { ...ofApplication.params, secretId };
  await api.call('deleteApplicationSecret', { params });
  expect(await seenBy('application', 'DEEP')).toEqual([]);
});

test('a value that leads back to itself is refused with the way that it takes', async () => {
  const create = (key: string, value: string) =>
    api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body: { key, value } });
  expect(await failure(create('LOOP', 'x{{ LOOP }}'))).toMatch(
    /^400 VARIABLE_CYCLE: LOOP → LOOP: the value of LOOP refers to itself/,
  );
  await create('ROUND_A', '{{ROUND_B}}');
  const secret = await api.call('createEnvironmentSecret', { ...ofEnvironment, body: { key: 'ROUND_B', value: '{{ROUND_C}}' } });
  expect(await failure(create('ROUND_C', '{{UNKNOWN}}{{ROUND_A}}'))).toMatch(
    /^400 VARIABLE_CYCLE: ROUND_C → ROUND_A → ROUND_B → ROUND_C: .* at this environment/,
  );
  const params = { ...ofEnvironment.params, secretId: secret.id };
  expect(await failure(api.call('editEnvironmentSecret', { params, body: { key: 'ROUND_B', value: '{{ROUND_A}}' } }))).toMatch(
    /^400 VARIABLE_CYCLE: ROUND_B → ROUND_A → ROUND_B/,
  );
  const body = { key: 'SELF', value: 'at {{SELF}}', mount_path: '/self', enable_interpolation_in_file: true };
  await api.call('createEnvironmentEnvironmentVariable', { ...ofEnvironment, body });
});

test('a cycle that only a wider scope closes is told when the service is deployed', async () => {
  const applicationId = await newApplication(api, fixture.environmentId);
  const at = { params: { applicationId } };
  await api.call('createApplicationEnvironmentVariable', { ...at, body: { key: 'INNER', value: '{{OUTER}}' } });
  const outer = await api.call('createProjectEnvironmentVariable', { ...ofProject, body: { key: 'OUTER', value: '{{INNER}}' } });
  const reported = /^400 VARIABLE_CYCLE: INNER → OUTER → INNER: .* at the service shop /;
  expect(await failure(api.call('deployApplication', at))).toMatch(reported);
  expect(await failure(api.call('deployApplication', { ...at, query: { dry_run: true } }))).toMatch(reported);
  expect(await failure(api.call('deployEnvironment', ofEnvironment))).toMatch(reported);
  expect(await api.call('getApplicationStatus', at)).toMatchObject({ service_deployment_status: 'NEVER_DEPLOYED' });
  await api.call('deleteProjectEnvironmentVariable', { params: { ...ofProject.params, environmentVariableId: outer.id } });
  await api.call('deployApplication', at);
});

test('values come back as they were sent, whatever characters they have', async () => {
  const value = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((text) => !text.includes('\0') && text.isWellFormed());
  await fc.assert(
    fc.asyncProperty(value, value, async (first, description) => {
      const body = { key: 'ANY_TEXT', value: first, description };
      const made = await api.call('createProjectEnvironmentVariable', { ...ofProject, body });
      expect([made.value, made.description]).toEqual([first, description]);
      expect(await seenBy('application', 'ANY_TEXT')).toEqual([`PROJECT ${first}`]);
    }),
    { numRuns: 25 },
  );
});

test('the secrets of a project and environment go with these', async () => {
  const other = await makeTestVariables(server);
  await other.api.call('createProjectSecret', { params: { projectId: other.projectId }, body: { key: 'P', value: 'x' } });
  const params = { environmentId: other.environmentId };
  const secret = await other.api.call('createEnvironmentSecret', { params, body: { key: 'E', value: 'x' } });
  await other.api.call('createEnvironmentSecretAlias', { params: { ...params, secretId: secret.id }, body: { key: 'F' } });
  await other.api.call('deleteEnvironment', { params });
  await other.api.call('deleteProject', { params: { projectId: other.projectId } });
  const text = 'SELECT count(*)::int AS left FROM secret_value WHERE organization_id = $1';
  const [count] = await server.database.database.many<{ left: number }>({ name: 'test secrets left', text }, [
    other.organization.id,
  ]);
  expect(count?.left).toBe(0);
});
