import { operationList, type Operation } from '@davit/contract';
import type { ErrorDetail } from '@davit/base';

/**
 * Query flags that make an operation do less, or only tell what it would do. Whoever sends one to an operation that does not know it expects
 * less to happen than would, so that it is refused there. Other unknown members of a query mean nothing.
 */
const restrainingFlags = ['dry_run', 'forceEvent', 'force_terraform_action', 'resources_only', 'deleteMode'] as const;

/** `dry-run` and `dryRun` are meant as `dry_run`. */
function folded(name: string): string {
  return name.replaceAll(/[_-]/g, '').toLowerCase();
}

const flagsByFoldedName = new Map<string, string>(restrainingFlags.map((flag) => [folded(flag), flag]));

function declares({ query }: Operation, flag: string): boolean {
  const { properties }: { readonly properties?: object } = query ?? {};
  return properties !== undefined && Object.hasOwn(properties, flag);
}

/** As in `POST …/deploy, POST …/stop`. */
function offeringOperations(flag: string): string {
  const offering = operationList.filter((operation) => operation.method !== 'GET' && declares(operation, flag));
  const endings = offering.map(({ method, path }) => {
    const [, kind = '', last = ''] = /^\/([^/]+).*\/([^/]+)$/.exec(path) ?? [];
    return last.startsWith('{') ? `${method} /${kind}/…` : `${method} …/${last}`;
  });
  return [...new Set(endings)].join(', ');
}

/** What is wrong with the names in the query of an operation: flags that it would neglect. Reads neglect nothing, since they change nothing. */
export function neglectedFlags(operation: Operation, query: Readonly<Record<string, unknown>>): ErrorDetail[] {
  if (operation.method === 'GET') return [];
  return Object.entries(query).flatMap(([path, value]): ErrorDetail[] => {
    const flag = flagsByFoldedName.get(folded(path));
    if (flag === undefined || value === 'false' || (path === flag && declares(operation, flag))) return [];
    if (declares(operation, flag)) return [{ path, message: `is written ${flag}; nothing was done` }];
    return [{ path, message: `is not offered by this operation, and nothing was done. Offered by: ${offeringOperations(flag)}` }];
  });
}
