import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { invalid } from '../shared/problems.ts';
import { personOf } from './account.ts';
import { recordPersonEvent } from './audit.ts';
import { securityOf } from './security.ts';
import { accountByPerson, requirePasswords, setPassword, type LocalAccount } from './local.ts';

type Security = Response<(typeof operations)['changePassword']>;
type ChangeRequest = Body<(typeof operations)['changePassword']>;

interface FromPerson {
  readonly caller: Caller;
  readonly client: ClientFacts;
}

/**
 * Returns the account of the caller if the password is right. A stolen session must not be enough for a change that
 * locks its owner out, nor to guess the password. NO_PASSWORD, VALIDATION_FAILED for `field`, RATE_LIMITED.
 */
export async function confirmPassword(
  deps: Needs<'database' | 'passwords', 'passwords'>,
  { caller, client }: FromPerson,
  { field, password }: { readonly field: string; readonly password: string },
): Promise<LocalAccount> {
  requirePasswords(deps);
  const { id } = personOf(caller);
  const account = await deps.database.maybe(accountByPerson, [id]);
  if (account === undefined) {
    throw new AppError({ code: 'NO_PASSWORD', message: 'You sign in through an issuer and have no password here.' });
  }
  const attempt = { subject: `password of ${id}`, address: client.address };
  await takeAttempt(deps.database, attempt);
  if (!(await deps.passwords.verify(password, account.password_hash))) throw invalid(field, 'is not your password');
  await attemptSucceeded(deps.database, attempt);
  return account;
}

/**
 * Changes the password, ends all other sessions, and returns what else signs the person in. NO_PASSWORD,
 * VALIDATION_FAILED, RATE_LIMITED.
 */
export async function changePassword(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords', 'passwords'>,
  from: FromPerson,
  { current_password, new_password }: ChangeRequest,
): Promise<Security> {
  const account = await confirmPassword(deps, from, { field: 'current_password', password: current_password });
  const { id, sessionId } = personOf(from.caller);
  const hash = await deps.passwords.hash(new_password);
  await deps.database.transaction(async (tx) => {
    if (!(await setPassword(tx, id, { hash, former: account.password_hash }))) {
      throw invalid('current_password', 'was changed at the same time');
    }
    await deps.sessions.endAll(id, sessionId, tx);
    const { client } = from;
    await recordPersonEvent(tx, id, { type: 'UPDATE', part: 'PASSWORD', operation: 'changePassword', client });
  });
  deps.tokens.forget();
  return securityOf(deps.database, id);
}
