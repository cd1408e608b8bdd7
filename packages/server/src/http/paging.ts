import { defaultPageSize, pageLimits } from '@davit/contract';
import { validationFailed } from './validation.ts';

/**
 * Cuts `results` of what is read to the page that the query asks for; without one all of the list is answered. Throws for a page
 * that is none, and then has read nothing: a read that fails while nobody waits for it ends the process.
 */
export function pageOf(query: Record<string, unknown>, read: () => Promise<unknown>): Promise<unknown> {
  const { page, pageSize } = query;
  if (page === undefined && pageSize === undefined) return read();
  const number = wholeNumber('page', page, 1, pageLimits.page);
  const size = wholeNumber('pageSize', pageSize, defaultPageSize, pageLimits.pageSize);
  return read().then((list) => {
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
