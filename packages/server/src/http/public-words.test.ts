import type { Operation } from '@davit/contract';
import { resolved, type PublicSchema } from '@davit/testkit/public-description';
import { expect, test } from 'vitest';
import { describedOperations } from './testing/public-shapes.ts';

/*
 * Whatever the public description allows in requests must be known to the contract: every query parameter, every word,
 * every limit.
 */

interface OwnSchema {
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, OwnSchema>>;
  readonly required?: readonly string[];
  readonly items?: OwnSchema;
  readonly anyOf?: readonly OwnSchema[];
}

/** Words that are refused, with the reason. */
const refused: Readonly<Record<string, string>> = {
  'createCloudcCredentials credential_type': 'federated identities need a service of the vendor that answers for them',
  'editCloudcCredentials credential_type': 'the same',
};

test('each parameter of a query is known, with its words, its default and whether it is needed', () => {
  for (const { operation, one } of describedOperations) {
    const own = schemaOf(operation.query);
    for (const { name, required, schema } of one.query ?? []) {
      const mine = own.properties?.[name];
      expect({ operation: operation.id, name, isKnown: mine !== undefined }).toMatchObject({ isKnown: true });
      const wanted = resolved(schema);
      const unknown = wordsOf(wanted).filter((word) => mine?.enum?.includes(word) !== true);
      const needed = own.required?.includes(name) ?? false;
      expect({ operation: operation.id, name, unknown, needed, default: mine?.default }).toEqual({
        operation: operation.id,
        name,
        unknown: [],
        needed: required,
        default: wanted.default,
      });
    }
  }
});

test('each word and each number that a body may hold is accepted', () => {
  const faults = describedOperations.flatMap(({ operation, one }) =>
    one.request === undefined ? [] : narrower(operation, one.request),
  );
  expect(faults).toEqual([]);
});

function narrower(operation: Operation, request: PublicSchema): string[] {
  return [...compare(request, schemaOf(operation.body), [])]
    .filter(({ path }) => refused[`${operation.id} ${path}`] === undefined)
    .map(({ path, fault }) => `${operation.id} ${path}: ${fault}`);
}

function* compare(reference: PublicSchema, own: OwnSchema, path: readonly string[]): Generator<{ path: string; fault: string }> {
  const schema = resolved(reference);
  const location = path.join('.');
  for (const branch of schema.anyOf ?? []) yield* compare(branch, own, path);
  const mine = own.anyOf?.find((one) => one.properties !== undefined || one.items !== undefined || one.enum !== undefined) ?? own;
  const missing = mine.enum === undefined ? [] : wordsOf(schema).filter((word) => mine.enum?.includes(word) !== true);
  if (missing.length > 0) yield { path: location, fault: `refuses ${missing.join(', ')}` };
  if (schema.maximum !== undefined && (mine.maximum ?? Infinity) < schema.maximum) yield { path: location, fault: 'maximum' };
  if (schema.minimum !== undefined && (mine.minimum ?? -Infinity) > schema.minimum) yield { path: location, fault: 'minimum' };
  if (schema.maxLength !== undefined && (mine.maxLength ?? Infinity) < schema.maxLength)
    yield { path: location, fault: 'maxLength' };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const inside = mine.properties?.[name];
    // Unknown properties are ignored; public-requests.db.test.ts lists them.
    if (inside !== undefined) yield* compare(property, inside, [...path, name]);
  }
  if (schema.items !== undefined && mine.items !== undefined) yield* compare(schema.items, mine.items, [...path, '0']);
}

function wordsOf(schema: PublicSchema): readonly unknown[] {
  return (schema.enum ?? []).filter((word) => word !== null);
}

function schemaOf(schema: OwnSchema | undefined): OwnSchema {
  return schema ?? {};
}
