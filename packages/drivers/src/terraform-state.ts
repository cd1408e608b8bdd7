import type { StateLock, StateStore } from './terraform-driver.ts';

/*
 * The protocol of Terraform's backend `http`: GET and POST of the state, LOCK and UNLOCK with what Terraform says of the lock. It is
 * spoken by the server of a run of this machine, and by the API for runs on clusters.
 */

/** A larger one is refused. */
export const largestState = 64 * 1024 * 1024;

export interface StateRequest {
  readonly method: string;
  /** null: larger than `largestState`. */
  readonly body: string | null;
}

export interface StateAnswer {
  readonly status: number;
  /** JSON; null: nothing. */
  readonly body: string | null;
}

/** Where the API serves the state of a run, below its address. */
export function statePath(runId: string): string {
  return `/internal/terraform-state/${runId}`;
}

/** What `TF_HTTP_…` variables say, so that Terraform finds a state there. `attempts`: beside the first, of each request. */
export function stateVariables(
  address: string,
  { password, attempts, longestPauseSeconds }: { password: string; attempts: number; longestPauseSeconds: number },
): Record<string, string> {
  return {
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_USERNAME: 'davit',
    TF_HTTP_PASSWORD: password,
    TF_HTTP_RETRY_MAX: String(attempts),
    TF_HTTP_RETRY_WAIT_MIN: '1',
    TF_HTTP_RETRY_WAIT_MAX: String(longestPauseSeconds),
  };
}

/** Does what a request of Terraform asks of a state. */
export async function answerState(store: StateStore, { method, body }: StateRequest): Promise<StateAnswer> {
  switch (method) {
    case 'GET': {
      const state = await store.read();
      return state === null ? { status: 204, body: null } : { status: 200, body: state };
    }
    case 'POST': {
      if (body === null) return { status: 413, body: null };
      await store.write(body);
      return { status: 200, body: null };
    }
    case 'LOCK': {
      const info = lockOf(body);
      if (info === null) return { status: 400, body: null };
      const held = await store.lock(info);
      return { status: held === null ? 200 : 423, body: JSON.stringify(held ?? info) };
    }
    case 'UNLOCK': {
      const info = lockOf(body);
      // `force-unlock` sends the id alone, in other words than the lock was made with.
      if (info === null) return { status: 409, body: null };
      // Asked again where the answer was lost: what is not held has nothing to be let go of.
      const isFree = (await store.unlock(info.ID)) || !(await store.isLocked());
      return { status: isFree ? 200 : 409, body: null };
    }
    default:
      return { status: 405, body: null };
  }
}

function lockOf(text: string | null): StateLock | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '');
    if (typeof parsed !== 'object' || parsed === null || !('ID' in parsed) || typeof parsed.ID !== 'string') return null;
    return { ...parsed, ID: parsed.ID };
  } catch {
    return null;
  }
}
