import { useBlocker } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Confirm } from './confirm.tsx';

/** Returns the kind in the address of a new service: each kind has a form of its own. */
function kindIn(search: object): unknown {
  return 'kind' in search ? search.kind : undefined;
}

/** Asks before a page is left whose edits are not saved; also when the browser's tab is closed. */
export function LeaveGuard({ count, what }: { readonly count: number; readonly what: string }): ReactNode {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) =>
      count > 0 && (current.pathname !== next.pathname || kindIn(current.search) !== kindIn(next.search)),
    enableBeforeUnload: count > 0,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Confirm title="Leave without saving?" verb="Leave" isDangerous onConfirm={proceed} onClose={reset}>
      <p>
        {what} {count === 1 ? 'is' : 'are'} not saved, and lost if you leave.
      </p>
    </Confirm>
  );
}
