import { randomUUID } from 'node:crypto';
import { environmentModes, operationList } from '@davit/contract';
import { statement } from '@davit/db';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recipes } from '../resources/event/testing/recipes.ts';
import { EventFixture, named as newName, source, type Ids, type Recipe } from '../resources/event/testing/fixture.ts';
import { namedFields, withValue, type Attempt, type NamedField } from './testing/named-fields.ts';
import { Things } from './testing/things.ts';

/*
 * Admission checks the place that the path names. These tests cover every field of a query or body that names another
 * place: with an id of another organization, and with a place where the caller's custom role has no right. Each such
 * request must be refused and change nothing.
 */

let fixture: EventFixture;
let foreign: Things;
let token: string;
/** Token of a caller with all rights in the organization. */
let owner: string;
let roleId: string;

beforeAll(async () => {
  fixture = await EventFixture.open();
  const { id } = await fixture.server.organization('foreign');
  foreign = new Things(fixture, { organizationId: id });
  roleId = await fixture.make('customRole', { name: 'developers' });
  const params = { organizationId: fixture.organizationId };
  const made = await fixture.server
    .client()
    .call('createOrganizationApiToken', { params, body: { name: 'developers', role_id: roleId } });
  token = made.token;
  owner = (await fixture.server.client().call('createOrganizationApiToken', { params, body: { name: 'owner', scope: 'ADMIN' } }))
    .token;
});
afterAll(() => fixture.close());

/** Grants the role all rights in the development environments of a project, and none in its other environments. */
async function grant(projectId: string, clusterId: string): Promise<void> {
  const permissions = environmentModes.map((environment_type) => ({
    environment_type,
    permission: environment_type === 'DEVELOPMENT' ? 'MANAGER' : 'NO_ACCESS',
  }));
  await fixture.change(`PUT /organization/${fixture.organizationId}/customRole/${roleId}`, {
    name: 'developers',
    cluster_permissions: [{ cluster_id: clusterId, permission: 'ENV_CREATOR' }],
    project_permissions: [{ project_id: projectId, permissions }],
  });
}

const countEvents = statement<{ count: number }>(
  'test_count_events_of_named_places',
  'select count(*)::int as count from audit_event',
);

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly written: number;
}

async function send(
  { operation }: Pick<NamedField, 'operation'>,
  { ids, query, body }: Request,
  bearer: string,
): Promise<Answer> {
  const { database } = fixture.server.database;
  const before = (await database.one(countEvents)).count;
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => ids[name] ?? `unset-${name}`);
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query).toString()}`;
  const response = await fetch(`${fixture.server.baseUrl}${path}${search}`, {
    method: operation.method,
    headers: { authorization: `Token ${bearer}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, written: (await database.one(countEvents)).count - before };
}

interface Request {
  readonly ids: Ids;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const fields = namedFields(operationList);

/** Returns a valid request without the tested field: the request of the audit log's tests, if they have one. */
async function baseOf({ operation }: NamedField, attempt: Attempt): Promise<Request> {
  const recipe: Recipe | undefined = Object.entries(recipes).find(([name]) => name === operation.id)?.[1];
  const ids = { ...fixture.here, ...(await (attempt.ids ?? recipe?.ids)?.(fixture)) };
  const query = attempt.query?.(ids) ?? Object.fromEntries(new URLSearchParams(recipe?.query?.(ids) ?? ''));
  return { ids, query, body: (attempt.body ?? recipe?.body)?.(ids) };
}

/** Returns the request with another value in the field. */
function named({ part, path }: NamedField, attempt: Attempt, base: Request, id: string): Request {
  const value = attempt.value === undefined ? id : attempt.value(id);
  if (part === 'query') return { ...base, query: { ...base.query, [path]: String(value) } };
  return { ...base, body: withValue(freshName(base.body), path, value) };
}

/** Gives the body a new name, so that a request can be sent twice. */
function freshName(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'name' in body ? { ...body, ...newName() } : body;
}

const attempted = fields.flatMap((field) =>
  field.rule === undefined || 'because' in field.rule ? [] : [{ field, attempt: field.rule }],
);

const isGood = expect.toSatisfy((status: number) => status < 300);

const ofForeign = attempted.filter(({ attempt }) => attempt.refuses !== 'denied');
test.each(ofForeign.map((one) => [one.field.name, one] as const))('%s: nothing of another organization', async (_name, one) => {
  const { field, attempt } = one;
  const base = await baseOf(field, attempt);
  const own = new Things(fixture, { organizationId: fixture.organizationId, ids: base.ids });
  const control =
    attempt.failsAnyway === true ? null : await send(field, named(field, attempt, base, await own.get(attempt.thing)), owner);
  expect({ status: control?.status ?? 200, text: control?.text }).toMatchObject({ status: isGood });
  // The first request may have consumed its target.
  const again = await baseOf(field, attempt);
  const request = named(field, attempt, again, await foreign.get(attempt.thing));
  // The administrator of the instance sees every organization, but must not mix two of them.
  const bearers = field.operation.target === 'instance' ? [owner] : [owner, fixture.server.adminToken];
  const answers: Answer[] = [];
  for (const bearer of bearers) answers.push(await send(field, request, bearer));
  expect(answers.filter((answer) => !(attempt.isFilter === true ? isEmpty(answer) : isRefused(answer)))).toEqual([]);
});

const isRefused = ({ status, written }: Answer): boolean => [400, 404].includes(status) && written === 0;

/** Returns whether all lists of a response are empty. */
function isEmpty({ status, text }: Answer): boolean {
  const answer: Readonly<Record<string, unknown>> = JSON.parse(text);
  return status === 200 && Object.values(answer).every((value) => !Array.isArray(value) || value.length === 0);
}

const ofDenied = attempted.filter(({ attempt }) => attempt.refuses !== 'foreign');
test.each(ofDenied.map((one) => [one.field.name, one] as const))(
  '%s: nothing where the role has no right',
  async (_name, one) => {
    const { field, attempt } = one;
    const base = await baseOf(field, attempt);
    await grant(base.ids['projectId'] ?? '', base.ids['clusterId'] ?? '');
    const denied = new Things(fixture, { organizationId: fixture.organizationId, ids: base.ids, mode: 'PRODUCTION' });
    const request = named(field, attempt, base, await denied.get(attempt.deniedThing ?? attempt.thing));
    const answer = await send(field, request, token);
    expect(answer).toEqual({ status: expect.toBeOneOf([400, 403, 404]), text: answer.text, written: 0 });
    if (attempt.staysInside === true || attempt.failsAnyway === true) return;
    // The control request with the owner's token succeeds, so only the right was missing.
    const { status, text } = await send(field, request, owner);
    expect({ status, text }).toEqual({ status: isGood, text });
  },
);

test('an import judges each item as the operation that would create it', async () => {
  const { projectId = '', clusterId = '', applicationId = '' } = fixture.here;
  await grant(projectId, clusterId);
  const operation = operationList.find(({ id }) => id === 'importEnvironmentVariable');
  if (operation === undefined) throw new Error('there is no import');
  const ids = { ...fixture.here, applicationId };
  const vars = (scope: string): object[] =>
    [false, true].map((is_secret) => ({ name: `K${randomUUID().replaceAll('-', '')}`, value: 'v', scope, is_secret }));
  const importing = (scopes: readonly string[]): Promise<Answer> =>
    send({ operation }, { ids, query: {}, body: { overwrite: true, vars: scopes.flatMap(vars) } }, token);
  expect(await importing(['APPLICATION', 'ENVIRONMENT'])).toMatchObject({ status: 201 });
  expect(await importing(['APPLICATION', 'PROJECT'])).toMatchObject({
    status: 403,
    text: expect.stringContaining('is_admin of the project'),
    written: 0,
  });
});

test('a person whose role may not read variables does not read them by an id in the query either', async () => {
  const name = `billing ${randomUUID()}`.replaceAll(' ', '-');
  const userId = await fixture.member(name);
  const roles = await fixture.server
    .client()
    .call('listOrganizationAvailableRoles', { params: { organizationId: fixture.organizationId } });
  const role_id = roles.results.find((one) => one.name === 'Billing manager')?.id;
  await fixture.change(`PUT /organization/${fixture.organizationId}/member`, { user_id: userId, role_id });
  const operation = operationList.find(({ id }) => id === 'listVariables');
  if (operation === undefined) throw new Error('variables have no list');
  const query = { scope: 'ENVIRONMENT', parent_id: fixture.here['environmentId'] ?? '' };
  const answer = await send({ operation }, { ids: {}, query, body: undefined }, await fixture.issuer.person(name));
  expect(answer).toMatchObject({ status: 403 });
});

test('the request of an environment that a role does not see is not found by its id in the query', async () => {
  const ids = await fixture.fresh();
  await grant(ids['projectId'] ?? '', ids['clusterId'] ?? '');
  const environmentId = await fixture.make(`/project/${ids['projectId']}/environment`, { name: 'prod', mode: 'PRODUCTION' });
  await fixture.make(`/environment/${environmentId}/application`, { ...newName(), ...source });
  const requests = await Promise.all([
    fixture.make(`/environment/${ids['environmentId']}/deploy`),
    fixture.make(`/environment/${environmentId}/deploy`),
  ]);
  const operation = operationList.find(({ id }) => id === 'getDeploymentStatusByDeploymentRequestId');
  if (operation === undefined) throw new Error('requests have no status');
  const answers = [];
  for (const deploymentRequestId of requests) {
    answers.push((await send({ operation }, { ids: {}, query: { deploymentRequestId }, body: undefined }, token)).status);
  }
  expect(answers).toEqual([200, 404]);
});
