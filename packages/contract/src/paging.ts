import type { Operation } from './operation.ts';

/** Bounds of `page` and `pageSize`, wherever they are. */
export const pageLimits = { page: 1_000_000, pageSize: 1000 } as const;
export const defaultPageSize = 20;

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly allOf?: readonly Schema[];
}

/** Whether `page` and `pageSize` of the query cut a list to a page, though the operation does not declare them: lists that do not do so themselves. */
export function isPaged(operation: Operation): boolean {
  if (operation.method !== 'GET' || operation.response === null) return false;
  const response = operation.response as Schema;
  const query: Schema | undefined = operation.query;
  const isList = [response, ...(response.allOf ?? [])].some(({ properties }) => properties?.['results'] !== undefined);
  return isList && query?.properties?.['page'] === undefined;
}
