import { Loop } from '@davit/base';
import type { Deps } from '../deps.ts';
import { trimIdempotencyKeys } from '../http/idempotency.ts';
import { moveRefusals, trimAccounts, writePasswordMail } from '../resources/account/index.ts';
import { authorityOf, CertificateIssuer } from '../resources/certificate/index.ts';
import { trimEvents } from '../resources/event/index.ts';
import {
  followPreviews,
  followRepositories,
  GitWorker,
  trimGitEvents,
  type PollClock,
  type PreviewClock,
} from '../resources/git-event/index.ts';
import { MailSender, trimMails } from '../resources/mail/index.ts';
import { trimDeliveries, WebhookDeliverer, webhookWords } from '../resources/webhook/index.ts';
import { tidyRepositories } from '../git-remote/tidy.ts';
import { trimStream } from '../resources/stream/index.ts';
import { followBackups } from './backups.ts';
import type { Followed } from './clock.ts';
import { deployLostPushes } from './lost-pushes.ts';
import { followProofs } from './proofs.ts';
import { followRules } from './rules.ts';

const trimEveryMilliseconds = 3_600_000;
const trimStreamEveryMilliseconds = 60_000;
const refusalsEveryMilliseconds = 10_000;
const pushesEveryMilliseconds = 10_000;

export interface BackgroundParts {
  readonly deps: Deps;
  /** Connection string of the database of `deps`. */
  readonly connectionString: string;
  readonly version: string;
  readonly log: { info(details: object, message: string): void; warn(details: object, message: string): void };
}

/**
 * The background work of a process: deliveries of webhooks, deployment rules, backups of databases, certificates and
 * proofs of domains, previews and git events, and the removal of expired records.
 */
export class Background {
  readonly #parts: BackgroundParts;
  readonly #deliverer: WebhookDeliverer;
  readonly #mails: MailSender | null;
  #issuer: CertificateIssuer | undefined;
  #proofs: Followed | undefined;
  #rules: Followed | undefined;
  #backups: Followed | undefined;
  readonly #git: GitWorker;
  #previews: PreviewClock | undefined;
  #polls: PollClock | undefined;
  readonly #trims: Loop;
  readonly #stopped = new AbortController();
  readonly #streamTrims: Loop;
  readonly #refusals: Loop;
  readonly #pushes: Loop;

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    const { database, vault, config, counts, vocabulary } = parts.deps;
    const allowPrivateTargets = config.allowPrivateTargets;
    this.#git = new GitWorker(parts.deps, parts.log);
    this.#deliverer = new WebhookDeliverer({
      ...parts,
      database,
      vault,
      counts,
      allowPrivateTargets,
      ...(vocabulary !== null && { words: webhookWords(vocabulary) }),
    });
    this.#mails = mailSenderOf(parts);
    this.#trims = new Loop({
      look: () => this.#trim(),
      everyMilliseconds: trimEveryMilliseconds,
      onError: (error) => {
        const message = 'old events, keys, deliveries and links could not be removed; the next attempt is in an hour';
        parts.log.warn({ err: error }, message);
      },
    });
    this.#refusals = new Loop({
      look: () => moveRefusals(database),
      everyMilliseconds: refusalsEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error }, 'refused sign-ins could not be moved to the audit log'),
    });
    this.#pushes = new Loop({
      look: () => deployLostPushes(parts.deps, parts.log),
      everyMilliseconds: pushesEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error }, 'pushes that wait for their deployment could not be read'),
    });
    this.#streamTrims = new Loop({
      look: () => trimStream(database, { seconds: config.streamRetentionMinutes * 60 }),
      everyMilliseconds: trimStreamEveryMilliseconds,
      onError: (error) =>
        parts.log.warn({ err: error }, 'old events of streams could not be removed; the next attempt is in a minute'),
    });
  }

  /**
   * Starts the work. Fails with CONFIGURATION_INVALID, or if the database is unreachable; nothing works then, and the
   * object cannot be started again.
   */
  async start(): Promise<void> {
    const authority = await authorityOf(this.#parts.deps);
    try {
      await this.#git.start(this.#parts.connectionString);
      if (authority !== null) {
        this.#issuer = new CertificateIssuer({ ...this.#parts, authority });
        await this.#issuer.start();
      }
    } catch (error) {
      await this.stop();
      throw error;
    }
    this.#deliverer.start();
    this.#mails?.start();
    this.#proofs = followProofs(this.#parts.deps, this.#parts.log);
    this.#previews = followPreviews(this.#parts.deps, this.#parts.log);
    this.#polls = followRepositories(this.#parts.deps, this.#parts.log);
    this.#rules = followRules(this.#parts.deps, this.#parts.log);
    this.#backups = followBackups(this.#parts.deps, this.#parts.log);
    for (const trims of [this.#trims, this.#streamTrims, this.#refusals, this.#pushes]) {
      trims.start();
      void trims.wake();
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    const loops = [this.#trims, this.#streamTrims, this.#refusals, this.#pushes];
    const trimsEnded = Promise.all(loops.map((loop) => loop.stop()));
    await this.#issuer?.stop();
    await this.#proofs?.stop();
    await this.#rules?.stop();
    await this.#backups?.stop();
    await this.#deliverer.stop();
    await this.#mails?.stop();
    await this.#git.stop();
    await this.#previews?.stop();
    await this.#polls?.stop();
    await trimsEnded;
  }

  async #trim(): Promise<void> {
    const { database } = this.#parts.deps;
    await trimEvents(database);
    await trimIdempotencyKeys(database);
    await trimDeliveries(database);
    await trimGitEvents(database);
    await trimAccounts(database);
    await trimMails(database);
    await tidyRepositories(this.#parts.deps, this.#stopped.signal);
  }
}

/** Returns what sends mails; null: the operator has configured no mail server. */
export function mailSenderOf({ deps, log }: Pick<BackgroundParts, 'deps' | 'log'>): MailSender | null {
  const { database, vault, config } = deps;
  const { mail } = config;
  if (mail === null) return null;
  return new MailSender({ database, vault, mail, log, write: { PASSWORD: (tx, to) => writePasswordMail(deps, tx, to) } });
}
