import { Loop } from '@davit/base';
import { domainsChannel, listen, type Listener } from '@davit/db';
import type { EngineParts } from '../shared/parts.ts';
import type { GatewayDomains } from '../port.ts';
import type { GatewaySync } from './gateway-sync.ts';

/*
 * Sends changes of domains to the gateways: certificates and challenges. The database notifies of changes. Because a
 * notification may be lost with its connection, the domains are also read periodically.
 */

const lookEveryMilliseconds = 30_000;

export class DomainWatch {
  readonly #parts: EngineParts;
  #listener: Listener | undefined;
  readonly #loop: Loop;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#loop = new Loop({
      look: () => this.#look(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) =>
        parts.log.warn({ err: error }, 'the custom domains could not be read; the gateways keep those that they have'),
    });
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    if (this.#parts.hooks.gatewayDomains === undefined) return;
    const wake = (): void => void this.#loop.wake();
    const { connectionString } = this.#parts;
    this.#listener = await listen({ connectionString, channels: [domainsChannel], onNotification: wake, onReconnect: wake });
    this.#loop.start();
    await this.#loop.wake();
  }

  /** Reads the domains again soon, because a new gateway has none yet. */
  wake(): void {
    if (this.#listener !== undefined) void this.#loop.wake();
  }

  async stop(): Promise<void> {
    const looksEnded = this.#loop.stop();
    await this.#listener?.close();
    await looksEnded;
  }

  async #look(): Promise<void> {
    const domains = await this.#parts.hooks.gatewayDomains?.();
    if (domains === undefined) return;
    await Promise.all(Object.entries(this.#parts.gateways).map((gateway) => this.#send(gateway, domains)));
  }

  /** Sends the domains to one gateway. An unreachable gateway does not affect the others. */
  async #send([driver, gateway]: readonly [string, GatewaySync], domains: GatewayDomains): Promise<void> {
    try {
      await gateway.setDomains(domains);
    } catch (error) {
      this.#parts.log.warn(
        { err: error, driver },
        'the custom domains of the gateway could not be updated; it keeps those that it has',
      );
    }
  }
}
