import { AppError } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import type { Queryable } from '@davit/db';
import { takeAttempt } from '../../auth/attempts.ts';
import { comparableEmail } from '../../auth/email.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { askForMail, type Mail } from '../mail/index.ts';
import { pageLink } from '../shared/page-link.ts';
import { makeLink } from './links.ts';
import { accountByEmail, requirePasswords } from './local.ts';

type Forgotten = Body<(typeof operations)['requestPasswordReset']>;

const validHours = 2;

/**
 * Queues a mail with a link to set a new password. Answers the same, after the same statements, whether there is an
 * account or not. FORBIDDEN, RATE_LIMITED.
 */
export async function requestPasswordReset(
  deps: Needs<'database', 'passwords' | 'mail'>,
  { address }: ClientFacts,
  request: Forgotten,
): Promise<void> {
  requirePasswords(deps);
  if (deps.config.mail === null) {
    const message = 'This installation sends no mail. Ask an administrator of your organization for a link, or the operator.';
    throw new AppError({ code: 'FORBIDDEN', message });
  }
  const recipient = comparableEmail(request.email.trim());
  await takeAttempt(deps.database, { subject: `password mail to ${recipient}`, address });
  await askForMail(deps.database, { kind: 'PASSWORD', recipient, hours: validHours });
}

/** Returns the mail for somebody who asked for a new password; null: there is no account with this address. */
export async function writePasswordMail(
  deps: Needs<never, 'host' | 'port' | 'publicUrl'>,
  tx: Queryable,
  recipient: string,
): Promise<Mail | null> {
  const account = await tx.maybe(accountByEmail, [recipient]);
  if (account === undefined) return null;
  const token = await makeLink(tx, { kind: 'PASSWORD', personId: account.person_id, hours: validHours });
  const link = pageLink(deps.config, 'password', token);
  const text = `Somebody, probably you, asked for a new password for ${recipient} on Davit. Set it here:

${link}

The link works once, for ${validHours} hours. All your sessions end, and your passkeys are removed.
If you did not ask, do nothing: your password stays.
`;
  return { subject: 'Set a new password for Davit', text };
}
