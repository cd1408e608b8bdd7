import { abortablePause, messageOf, neverAborted } from '@davit/base';
import type { DnsChallengeConfiguration } from '../../configuration.ts';
import { runDnsProgram } from '../../dns/program.ts';
import { updateTxt } from '../../dns/update.ts';
import { AuthorityFailure } from './authority.ts';

type Log = { info(details: object, message: string): void; warn(details: object, message: string): void };

/** The TXT records with which an authority verifies domains through DNS (RFC 8555, 8.4). */
export class DnsChallenge {
  readonly #config: DnsChallengeConfiguration;
  readonly #log: Log;

  constructor(config: DnsChallengeConfiguration, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Adds the record of a domain, and waits until DNS has had time to spread it. Fails with AuthorityFailure. */
  async add(host: string, answer: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#change('add', host, answer, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `The DNS record that proves ${host} could not be created: ${messageOf(error)}.`;
      throw new AuthorityFailure('GATEWAY', message, { cause: error });
    }
    await abortablePause(this.#config.waitSeconds * 1000, signal);
  }

  /** Removes the record. A failure is logged only: a record that is left over does no harm. */
  async remove(host: string, answer: string): Promise<void> {
    try {
      await this.#change('remove', host, answer, neverAborted);
    } catch (error) {
      this.#log.warn({ err: error, host }, 'the DNS record of a challenge could not be removed; remove it by hand');
    }
  }

  async #change(action: 'add' | 'remove', host: string, answer: string, signal: AbortSignal): Promise<void> {
    const record = { name: `_acme-challenge.${host.replace(/^\*\./, '')}`, text: answer };
    const { by } = this.#config;
    if (!('program' in by)) return updateTxt(by, action, record, signal);
    const log = (line: string): void => this.#log.info({ action, name: record.name }, `DAVIT_DNS_PROGRAM: ${line}`);
    await runDnsProgram(by.program, action, record, { log, signal });
  }
}
