/*
 * One tab of a browser leads for all tabs. Web Locks decide which one; browsers offer them to pages from https and from
 * this machine only. Other pages take turns by a lease in the storage that the tabs share.
 */

const leaseMilliseconds = 4000;
const renewalMilliseconds = 1500;

/**
 * Waits until this tab leads, then works until the signal aborts or the tab no longer leads. Several names may be led
 * at the same time.
 */
export async function lead(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  if ('locks' in navigator) {
    await navigator.locks.request(name, { signal }, () => work(signal)).catch(() => undefined);
    return;
  }
  await leadByLease(name, signal, work);
}

interface Lease {
  readonly tab: string;
  readonly until: number;
}

async function leadByLease(name: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const tab = String(Math.random());
  const giveBack = (): void => {
    if (readLease(name)?.tab === tab) localStorage.removeItem(name);
  };
  // A tab that is closed gives its lease back, so that the next one does not wait until the lease runs out.
  window.addEventListener('pagehide', giveBack);
  while (!signal.aborted) {
    if (!takeLease(name, tab)) {
      await waitForLease(name, signal);
      continue;
    }
    const lost = new AbortController();
    const done = work(AbortSignal.any([signal, lost.signal]));
    while (!signal.aborted && takeLease(name, tab)) await wait(renewalMilliseconds, signal);
    lost.abort();
    await done;
  }
  window.removeEventListener('pagehide', giveBack);
  giveBack();
}

/** Takes or renews the lease. Returns whether this tab has it. */
function takeLease(name: string, tab: string): boolean {
  const lease = readLease(name);
  if (lease !== null && lease.tab !== tab && lease.until > Date.now()) return false;
  localStorage.setItem(name, JSON.stringify({ tab, until: Date.now() + leaseMilliseconds }));
  return true;
}

function readLease(name: string): Lease | null {
  const text = localStorage.getItem(name);
  return text === null ? null : JSON.parse(text);
}

/** Waits until the lease is given back, at most until it should be renewed. */
async function waitForLease(name: string, signal: AbortSignal): Promise<void> {
  const given = new AbortController();
  const look = ({ key, newValue }: StorageEvent): void => {
    if (key === name && newValue === null) given.abort();
  };
  window.addEventListener('storage', look);
  await wait(renewalMilliseconds, AbortSignal.any([signal, given.signal]));
  window.removeEventListener('storage', look);
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener('abort', end);
  });
}
