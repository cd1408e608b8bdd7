import type { Client } from '@davit/client';

interface Watched {
  readonly organizationId: string;
  readonly serviceId: string;
}

/** Milliseconds in which the deployment of a push is reported after the push has ended. */
const soonMilliseconds = 3000;

/** Waits for the next deployment of a service, by any caller. */
export class DeploymentWatch {
  readonly #leave = new AbortController();
  /** Resolves when nothing that happens is missed any more. */
  readonly opened: Promise<void>;
  /** Resolves with the id of the deployment request. */
  readonly found: Promise<string>;

  constructor(client: Client, { organizationId, serviceId }: Watched) {
    let onOpen = (): void => undefined;
    let onFault = (_error: unknown): void => undefined;
    this.opened = new Promise((resolve, reject) => {
      onOpen = resolve;
      onFault = reject;
    });
    this.found = new Promise((resolve, reject) => {
      this.#follow(client, { organizationId, serviceId }, onOpen, resolve).catch((error: unknown) => {
        if (this.#leave.signal.aborted) return;
        onFault(error);
        reject(error instanceof Error ? error : new Error(String(error)));
      });
    });
    // A failure rejects the promise for which the caller waits; nobody may wait for the other one.
    this.opened.catch(() => undefined);
    this.found.catch(() => undefined);
  }

  /** Returns the id of the deployment request if one comes soon, otherwise null. */
  async soon(): Promise<string | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), soonMilliseconds)));
    try {
      return await Promise.race([this.found, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#leave.abort();
  }

  async #follow(
    client: Client,
    { organizationId, serviceId }: Watched,
    onOpen: () => void,
    onFound: (id: string) => void,
  ): Promise<void> {
    const input = { params: { organizationId }, query: { kinds: 'SERVICE_STATE', serviceId }, signal: this.#leave.signal };
    for await (const { event, data } of client.stream('streamOrganization', input)) {
      if (event === 'OPEN') onOpen();
      // Later states may be those of an earlier deployment that is about to end.
      if (event === 'SERVICE_STATE' && data.state === 'DEPLOYMENT_QUEUED') return onFound(data.deployment_request_id);
    }
  }
}
