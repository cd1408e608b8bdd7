import { DriverError, type Cause } from '../../errors.ts';
import { ApiRefusal } from './api.ts';
import { meaningOf } from './meanings.ts';

/** The failure of a call, in our words. What is no refusal (unreachable, aborted, a bug) passes through. */
export function translated(error: unknown, doing: string): unknown {
  if (!(error instanceof ApiRefusal)) return error;
  const { status, words } = error;
  const known = meaningOf(words);
  const byStatus: Cause = status === 401 || status === 403 ? 'CLUSTER_ACCESS_DENIED' : 'ENGINE_FAILED';
  return new DriverError({
    cause: known?.cause ?? byStatus,
    message: `${doing}: ${words}`,
    evidence: { original: words },
    // Too many requests, or what was asked (a node, a server behind this one, a webhook) is away.
    retryable: known?.retryable ?? (status === 409 || status === 429 || status >= 500),
    error,
  });
}
