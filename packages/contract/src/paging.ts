import type { Operation } from './operation.ts';

/** Limits of `page` and `pageSize` for all operations. */
export const pageLimits = { page: 1_000_000, pageSize: 1000 } as const;
export const defaultPageSize = 20;

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly allOf?: readonly Schema[];
}

/**
 * Returns whether the query's `page` and `pageSize` select a page of a list although the operation does not declare
 * them. True for lists that do no paging of their own.
 */
export function isPaged(operation: Operation): boolean {
  if (operation.method !== 'GET' || operation.response === null) return false;
  const response = operation.response as Schema;
  const query: Schema | undefined = operation.query;
  const isList = [response, ...(response.allOf ?? [])].some(({ properties }) => properties?.['results'] !== undefined);
  return isList && query?.properties?.['page'] === undefined;
}
