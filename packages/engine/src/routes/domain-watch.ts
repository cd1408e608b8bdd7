import { domainsChannel, listen, type Listener } from '@davit/db';
import type { EngineParts } from '../shared/parts.ts';
import type { GatewayDomains } from '../port.ts';
import type { GatewaySync } from './gateway-sync.ts';

/*
 * Sends changes of domains to the gateways: certificates, challenges, and host names that no service may use. The
 * database notifies of changes. Because a notification may be lost with its connection, the domains are also read
 * periodically.
 */

const lookEveryMilliseconds = 30_000;

export class DomainWatch {
  readonly #parts: EngineParts;
  #listener: Listener | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    if (this.#parts.hooks.gatewayDomains === undefined) return;
    const wake = (): void => void this.#look();
    const { connectionString } = this.#parts;
    this.#listener = await listen({ connectionString, channels: [domainsChannel], onNotification: wake, onReconnect: wake });
    this.#timer = setInterval(wake, lookEveryMilliseconds);
    await this.#look();
  }

  /** Reads the domains again soon, because a new gateway has none yet. */
  wake(): void {
    if (this.#timer !== undefined) void this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#listener?.close();
    await this.#looking;
  }

  #look(): Promise<void> {
    this.#again = true;
    this.#looking ??= this.#lookWhileAsked().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookWhileAsked(): Promise<void> {
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const domains = await this.#parts.hooks.gatewayDomains?.();
        if (domains === undefined) return;
        await Promise.all(Object.entries(this.#parts.gateways).map((gateway) => this.#tell(gateway, domains)));
      }
    } catch (error) {
      this.#parts.log.warn(
        { err: error },
        'what there is to know of domains could not be read; the gateways go on with what they know',
      );
    }
  }

  /** Sends the domains to one gateway. An unreachable gateway does not affect the others. */
  async #tell([driver, gateway]: readonly [string, GatewaySync], domains: GatewayDomains): Promise<void> {
    try {
      await gateway.setDomains(domains);
    } catch (error) {
      this.#parts.log.warn({ err: error, driver }, 'the gateway could not be told of domains; it goes on with what it knows');
    }
  }
}
