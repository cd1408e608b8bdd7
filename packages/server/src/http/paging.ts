import { defaultPageSize, pageLimits } from '@davit/contract';
import { validationFailed } from './validation.ts';

/**
 * Reads a list and cuts its `results` to the page that the query requests; without paging parameters the whole list is
 * returned. Throws for an invalid page before it starts the read: a read that fails while nobody awaits it would end
 * the process.
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
