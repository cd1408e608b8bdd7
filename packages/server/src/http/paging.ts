import type { Operation } from '@davit/contract';
import { validationFailed } from './validation.ts';

const defaultPageSize = 20;
const largestPageSize = 1000;

interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly allOf?: readonly Schema[];
}

/** Whether `page` and `pageSize` of the query are honoured here: in lists that do not do so themselves (D23). */
export function isPaged(operation: Operation): boolean {
  if (operation.method !== 'GET' || operation.response === null) return false;
  const response = operation.response as Schema;
  const query: Schema | undefined = operation.query;
  const isList = [response, ...(response.allOf ?? [])].some(({ properties }) => properties?.['results'] !== undefined);
  return isList && query?.properties?.['page'] === undefined;
}

/** Cuts `results` to the page that the query asks for; without one all of the list is answered. */
export function pageOf(query: Record<string, unknown>, answer: Promise<unknown>): Promise<unknown> {
  const { page, pageSize } = query;
  if (page === undefined && pageSize === undefined) return answer;
  const number = wholeNumber('page', page, 1, 1_000_000);
  const size = wholeNumber('pageSize', pageSize, defaultPageSize, largestPageSize);
  return answer.then((list) => {
    if (typeof list !== 'object' || list === null || !('results' in list) || !Array.isArray(list.results)) return list;
    return { ...list, results: list.results.slice((number - 1) * size, number * size) };
  });
}

function wholeNumber(name: string, value: unknown, byDefault: number, maximum: number): number {
  if (value === undefined) return byDefault;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (number >= 1 && number <= maximum) return number;
  throw validationFailed([{ path: name, message: `must be a whole number from 1 to ${maximum}` }]);
}
