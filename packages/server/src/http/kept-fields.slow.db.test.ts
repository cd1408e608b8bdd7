import { operationList, type Operation } from '@davit/contract';
import { publicDescription, resolved, routeOf, type PublicSchema } from '@davit/testkit/public-description';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recipes } from '../resources/event/testing/recipes.ts';
import { EventFixture, type Ids, type Recipe } from '../resources/event/testing/fixture.ts';
import type { Schema } from './testing/arbitrary.ts';
import { changedValue, memberOf } from './testing/changed-values.ts';
import { exceptionFor, expectedAnswer, ownValue, refusedFields, unanswered } from './testing/kept-values.ts';

/* Each field of each request that creates or edits a record must be returned as it was sent, and stay so. */

let fixture: EventFixture;
let shared: Ids;
beforeAll(async () => {
  fixture = await EventFixture.open();
  shared = {
    annotationsGroupId: await fixture.make('annotationsGroups', { name: 'notes', annotations: [], scopes: ['PODS'] }),
    labelsGroupId: await fixture.make('labelsGroups', { name: 'labels', labels: [] }),
    gitTokenId: await fixture.make('gitToken', { name: 'git', type: 'HOSTA', token: 'sesame' }),
    helmRepositoryId: await fixture.make('helmRepository', {
      name: 'charts',
      kind: 'HTTPS',
      url: 'https://charts.example.org',
      skip_tls_verification: false,
      config: {},
    }),
    customRoleId: await fixture.make('customRole', { name: 'kept' }),
    credentialsId: await fixture.make('aws/credentials', {
      name: 'account',
      type: 'AWS_STATIC',
      access_key_id: 'key',
      secret_access_key: 'sesame',
    }),
  };
});
afterAll(() => fixture.close());

const recipeOf = (id: string): Recipe | undefined => Object.entries(recipes).find(([name]) => name === id)?.[1];
const described = new Map(publicDescription.operations.map((one) => [routeOf(one), one]));

interface Field {
  readonly operation: Operation;
  readonly recipe: Recipe;
  readonly name: string;
  readonly schema: Schema;
}

/** A passkey needs an authenticator; account/passkey.db.test.ts edits one. */
const withoutRecord = new Set(['editPasskey']);

const cases = operationList.flatMap((operation): Field[] => {
  const recipe = recipeOf(operation.id);
  if (withoutRecord.has(operation.id)) return [];
  if (!/^(create|edit|add|specify|lock|postInvite)/.test(operation.id)) return [];
  if (recipe?.body === undefined || operation.mediaType !== undefined || operation.body === undefined) return [];
  const own: Schema = operation.body;
  const request: PublicSchema = resolved(described.get(routeOf(operation))?.request ?? {});
  const fields: Readonly<Record<string, Schema>> = { ...request.properties, ...own.properties };
  return Object.entries(fields).map(([name, schema]) => ({ operation, recipe, name, schema }));
});

/** Sends an operation in which one field differs from its present value. */
async function change({ operation, recipe, name, schema }: Field) {
  const ids = async (): Promise<Ids> => ({ ...shared, ...(await recipe.ids(fixture)) });
  const former = await ids();
  const before = await fixture.send(operation, { ...recipe, ids: () => former });
  const now = memberOf(parsed(before.text), name);
  // After a POST, the created record exists; a PUT changes the same record.
  const present = operation.method === 'POST' ? await ids() : former;
  const value = changedValue(schema, { location: name, now, own: (location) => ownValue(operation.id, location, present) });
  const body = { ...toMembers(recipe.body?.(present)), [name]: value };
  const { status, text } = await fixture.send(operation, { ...recipe, ids: () => present, body: () => body });
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_all, parameter: string) => present[parameter] ?? '');
  return { value, status, text, path };
}

const named = (one: Field): readonly [string, Field] => [`${one.operation.id} ${one.name}`, one];
const isIn = (list: typeof unanswered, { operation, name }: Field): boolean =>
  exceptionFor(list, operation.id, name) !== undefined;
const taken = cases.filter((one) => !isIn(refusedFields, one));
const kept = taken.filter((one) => !isIn(unanswered, one));
const isRead = ({ operation: { method, path }, recipe: { person } }: Field): boolean =>
  method === 'PUT' && person === undefined && operationList.some((other) => other.method === 'GET' && other.path === path);

test.each(kept.filter((one) => !isRead(one)).map(named))('%s is kept', async (_name, one) => {
  const { value, status, text } = await change(one);
  expect({ value, text, status }).toEqual({ value, text, status: one.operation.status });
  expect(parsed(text)).toMatchObject(expectedAnswer(one.operation.id, one.name, value));
});

test.each(kept.filter(isRead).map(named))('%s is kept, and read again', async (_name, one) => {
  const { value, status, text, path } = await change(one);
  expect({ value, text, status }).toEqual({ value, text, status: one.operation.status });
  expect(parsed(text)).toMatchObject(expectedAnswer(one.operation.id, one.name, value));
  expect(await fixture.read(path)).toMatchObject(expectedAnswer(one.operation.id, one.name, value));
});

test.each(taken.filter((one) => isIn(unanswered, one)).map(named))('%s is taken and not shown', async (_name, one) => {
  const { value, status, text } = await change(one);
  expect({ value, text, status }).toEqual({ value, text, status: one.operation.status });
  expect(memberOf(parsed(text), one.name) ?? null).toBeNull();
});

test.each(cases.filter((one) => isIn(refusedFields, one)).map(named))('%s is refused by its name', async (_name, one) => {
  const { status, text } = await change(one);
  expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining(one.name) });
});

test('each exception is of a field that there is', () => {
  for (const [operations, fields] of [...unanswered, ...refusedFields]) {
    expect(cases.filter(({ operation, name }) => operations.test(operation.id) && fields.test(name))).not.toEqual([]);
  }
});

function parsed(text: string): unknown {
  return JSON.parse(text === '' ? '{}' : text);
}

function toMembers(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? { ...body } : {};
}
