import type { StateLock, StateStore } from './terraform-driver.ts';

/*
 * The protocol of Terraform's backend `http`: GET and POST of the state, LOCK and UNLOCK with Terraform's description
 * of the lock. Two servers implement it: the server of a run on this machine, and the API for runs on clusters.
 */

/** Largest state in bytes; a larger one is refused. */
export const largestState = 64 * 1024 * 1024;

export interface StateRequest {
  readonly method: string;
  /** Null if the body is larger than `largestState`. */
  readonly body: string | null;
}

export interface StateAnswer {
  readonly status: number;
  /** JSON; null if the body is empty. */
  readonly body: string | null;
}

/** Returns the path below the address of the API where the API serves the state of a run. */
export function statePath(runId: string): string {
  return `/internal/terraform-state/${runId}`;
}

/**
 * Returns the `TF_HTTP_…` variables with which Terraform finds a state at an address. `attempts` is the number of
 * retries of each request.
 */
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

/** Performs a request of Terraform on a state, and returns the response. */
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
      // `force-unlock` sends only the id, and not in the format of the lock.
      if (info === null) return { status: 409, body: null };
      // Terraform retries when a response is lost: a lock that is not held has been released already.
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
