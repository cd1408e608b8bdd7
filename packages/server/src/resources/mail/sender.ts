import { Loop } from '@davit/base';
import type { Database, Queryable } from '@davit/db';
import type { Transporter } from 'nodemailer';
import type { MailConfiguration } from '../../configuration.ts';
import type { Vault } from '../../secrets/vault.ts';
import { sealMail, type Mail } from './outbox.ts';
import { mailAgain, mailEnd, mailTake, mailWrite, type MailKind, type MailRow } from './store.ts';

/** Seconds before the second and later attempts; the last one repeats until the link of the mail has expired. */
const pausesSeconds = [30, 120, 600, 1800] as const;
const lookEveryMilliseconds = 2000;
const leaseSeconds = 120;

/** Writes a mail that was asked for, in a transaction. Returns null if there is nobody to write to. */
export type WriteMail = (tx: Queryable, recipient: string) => Promise<Mail | null>;

export interface SenderParts {
  readonly database: Database;
  readonly vault: Vault;
  readonly mail: MailConfiguration;
  readonly write: Readonly<Partial<Record<MailKind, WriteMail>>>;
  readonly log: { warn(details: object, message: string): void };
}

/** Sends the mails of the outbox, one after the other. Several processes may do this at the same time. */
export class MailSender {
  readonly #parts: SenderParts;
  #transport: Promise<Transporter> | null = null;
  readonly #loop: Loop;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#loop = new Loop({
      look: () => this.#sendAll(),
      everyMilliseconds: lookEveryMilliseconds,
      onError: (error) => parts.log.warn({ err: error }, 'mails could not be read; the next attempt is in two seconds'),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Sends what is due, and waits for it. */
  idle(): Promise<void> {
    return this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    (await this.#transport)?.close();
  }

  #opened(): Promise<Transporter> {
    this.#transport ??= openTransport(this.#parts.mail).catch((error: unknown) => {
      // The next mail tries again.
      this.#transport = null;
      throw error;
    });
    return this.#transport;
  }

  async #sendAll(): Promise<void> {
    while (!this.#loop.signal.aborted) {
      const row = await this.#parts.database.maybe(mailTake, [leaseSeconds]);
      if (row === undefined) return;
      await this.#send(row);
    }
  }

  async #send(row: MailRow): Promise<void> {
    const { database, log } = this.#parts;
    const mail = row.is_expired ? null : await this.#mailOf(row);
    if (mail === null) {
      if (row.is_expired) log.warn({ mail: row.id, kind: row.kind }, 'a mail was given up: its link has expired');
      await this.#end(row);
      return;
    }
    try {
      // As an object, an address cannot name further recipients.
      const transport = await this.#opened();
      await transport.sendMail({ to: { name: '', address: row.recipient }, ...mail });
    } catch (error) {
      const isRefused = isForGood(error);
      log.warn(
        { err: error, mail: row.id, attempts: row.attempts },
        isRefused ? 'a mail was refused' : 'a mail could not be sent',
      );
      const pause = pausesSeconds[row.attempts - 1] ?? pausesSeconds[3];
      await (isRefused ? this.#end(row) : database.run(mailAgain, [row.id, pause]));
      return;
    }
    await this.#end(row);
  }

  async #end({ id, kind, recipient, organization_id }: MailRow): Promise<void> {
    await this.#parts.database.run(mailEnd, [id, kind, recipient, organization_id]);
  }

  /** Returns the mail, which is written before its first attempt, so that all attempts have the same link. */
  async #mailOf({ id, kind, recipient, sealed }: MailRow): Promise<Mail | null> {
    const { database, vault, write } = this.#parts;
    if (sealed !== null) {
      const mail: Mail = JSON.parse(vault.open(id, sealed));
      return mail;
    }
    return database.transaction(async (tx) => {
      const mail = (await write[kind]?.(tx, recipient)) ?? null;
      if (mail !== null) await tx.run(mailWrite, [id, sealMail(vault, id, mail)]);
      return mail;
    });
  }
}

/** Opens connections when there is a mail. The library is loaded then, too: it takes 10 MB. */
async function openTransport({ url, from }: MailConfiguration): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  // A text names no file or address to attach.
  return createTransport(withTimeouts(url.reveal()), { from, disableFileAccess: true, disableUrlAccess: true });
}

/** A server that answers nothing must not hold a mail for longer than its lease, nor the end of this process. */
const timeoutsMilliseconds = { connectionTimeout: 15_000, greetingTimeout: 15_000, dnsTimeout: 10_000, socketTimeout: 60_000 };

function withTimeouts(text: string): string {
  const url = new URL(text);
  for (const [name, milliseconds] of Object.entries(timeoutsMilliseconds))
    if (!url.searchParams.has(name)) url.searchParams.set(name, String(milliseconds));
  return url.href;
}

/** Returns whether the mail server refuses this recipient or text, so that further attempts are useless. */
function isForGood(error: unknown): boolean {
  if (!(error instanceof Error) || !('responseCode' in error) || !('code' in error)) return false;
  return Number(error.responseCode) >= 500 && (error.code === 'EENVELOPE' || error.code === 'EMESSAGE');
}
