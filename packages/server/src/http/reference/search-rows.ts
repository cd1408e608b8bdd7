import type { ReferenceRow } from '@davit/contract';
import { fieldAnchor, propertiesOf } from './fields.ts';
import { causeAddress, codeAddress } from './links.ts';
import type { Entry, Model } from './model.ts';
import { operationAddress, type Section } from './order.ts';
import { typeAddress } from './schema.ts';

/** Returns the rows that the search finds: groups and operations, types and their fields, parameters, errors. */
export function searchRows(model: Model, sections: readonly Section[]): readonly ReferenceRow[] {
  const groups = sections.flatMap((section) => section.groups);
  const ordered = groups.flatMap(({ topics }) => topics.flatMap(({ operations }) => operations));
  const entries = ordered.flatMap(({ id }) => model.entries.get(id) ?? []);
  return [
    ...groups.map(({ tag, address, description }): ReferenceRow => ['group', tag, '', address, description]),
    ...entries.flatMap((entry) => rowsOfOperation(entry)),
    ...[...model.types].flatMap(([name, schema]): ReferenceRow[] => [
      ['type', name, '', typeAddress(name), schema.description ?? ''],
      ...propertiesOf(schema, model).map((property): ReferenceRow => [
        'field',
        property.name,
        name,
        `${typeAddress(name)}#${fieldAnchor}${property.name}`,
        property.schema.description ?? '',
      ]),
    ]),
    ...[...model.errors.values()].map(({ code, cause, remedy }): ReferenceRow => [
      'error',
      code,
      '',
      codeAddress(code, model),
      `${cause}. ${remedy}`,
    ]),
    ...[...model.causes].map(([code, words]): ReferenceRow => ['error', code, 'Failed deployment', causeAddress(code), words]),
  ];
}

function rowsOfOperation({ operation, description, parameters, errors }: Entry): readonly ReferenceRow[] {
  const address = operationAddress(operation.id);
  const words = `${operation.id} ${operation.method} ${operation.path} ${description}`;
  return [
    ['operation', operation.summary, operation.tag, address, words],
    ...parameters
      .filter((one) => one.in === 'query' && one.name !== 'page' && one.name !== 'pageSize')
      .map((one): ReferenceRow => ['field', one.name, operation.summary, `${address}#query-${one.name}`, one.description]),
    ...errors.map(({ code, cause, remedy }): ReferenceRow => [
      'error',
      code,
      operation.summary,
      `${address}#errors`,
      `${cause} ${remedy}`,
    ]),
  ];
}
