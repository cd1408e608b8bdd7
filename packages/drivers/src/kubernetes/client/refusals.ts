import { DriverError, type Cause } from '../../errors.ts';
import { ApiRefusal } from './api.ts';
import { meaningOf } from './meanings.ts';

/**
 * Returns the failure of a call in Davit's words. Errors that are no refusals (unreachable, aborted, a bug) are
 * returned unchanged.
 */
export function translated(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiRefusal)) return error;
  const { status, words } = error;
  const known = meaningOf(words);
  const byStatus: Cause = status === 401 || status === 403 ? 'CLUSTER_ACCESS_DENIED' : 'ENGINE_FAILED';
  return new DriverError({
    cause: known?.cause ?? byStatus,
    message: `${doing}: ${words}`,
    evidence: { original: words },
    // Too many requests, or the target of the request (a node, a server behind the API server, a webhook) is
    // unreachable.
    retryable: known?.retryable ?? (status === 409 || status === 429 || status >= 500),
    error,
  });
}
