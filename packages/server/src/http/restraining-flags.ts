import { operationList, type Operation } from '@davit/contract';
import type { ErrorDetail } from '@davit/base';

/**
 * Query flags that make an operation do less, or only report what it would do. An operation that does not know such a
 * flag rejects it, because the caller expects less to happen than would. Other unknown query parameters are ignored.
 */
const restrainingFlags = ['dry_run', 'forceEvent', 'force_terraform_action', 'resources_only', 'deleteMode'] as const;

/** Returns the spelling-independent form of a flag: `dry-run` and `dryRun` stand for `dry_run`. */
function folded(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

const flagsByFoldedName = new Map<string, string>(restrainingFlags.map((flag) => [folded(flag), flag]));

function declares({ query }: Operation, flag: string): boolean {
  const { properties }: { readonly properties?: object } = query ?? {};
  return properties !== undefined && Object.hasOwn(properties, flag);
}

/** Returns the operations that offer a flag, such as `POST …/deploy, POST …/stop`. */
function offeringOperations(flag: string): string {
  const offering = operationList.filter((operation) => operation.method !== 'GET' && declares(operation, flag));
  const endings = offering.map(({ method, path }) => {
    const [, kind = '', last = ''] = /^\/([^/]+).*\/([^/]+)$/.exec(path) ?? [];
    return last.startsWith('{') ? `${method} /${kind}/…` : `${method} …/${last}`;
  });
  return [...new Set(endings)].join(', ');
}

/**
 * Returns an error for each flag in the query that the operation would ignore. Reads ignore nothing of importance,
 * since they change nothing.
 */
export function neglectedFlags(operation: Operation, query: Readonly<Record<string, unknown>>): ErrorDetail[] {
  if (operation.method === 'GET') return [];
  return Object.entries(query).flatMap(([path, value]): ErrorDetail[] => {
    const flag = flagsByFoldedName.get(folded(path));
    if (flag === undefined || value === 'false' || (path === flag && declares(operation, flag))) return [];
    if (declares(operation, flag)) return [{ path, message: `must be written ${flag}; nothing was done` }];
    return [{ path, message: `is not offered by this operation, and nothing was done. Offered by: ${offeringOperations(flag)}` }];
  });
}
