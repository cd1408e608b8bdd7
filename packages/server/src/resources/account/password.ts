import { AppError } from '@davit/base';
import type { Body, operations } from '@davit/contract';
import { attemptSucceeded, takeAttempt } from '../../auth/attempts.ts';
import type { Caller } from '../../auth/caller.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { invalid } from '../shared/problems.ts';
import { personOf } from './account.ts';
import { accountByPerson, setPassword } from './local.ts';
import { requirePasswords } from './sign-in.ts';

type ChangeRequest = Body<(typeof operations)['changePassword']>;

/** Changes the password and ends all other sessions. NO_PASSWORD, VALIDATION_FAILED, RATE_LIMITED. */
export async function changePassword(
  deps: Needs<'database' | 'tokens' | 'sessions' | 'passwords', 'passwords'>,
  { caller, client }: { readonly caller: Caller; readonly client: ClientFacts },
  { current_password, new_password }: ChangeRequest,
): Promise<void> {
  requirePasswords(deps);
  const { id, sessionId } = personOf(caller);
  const account = await deps.database.maybe(accountByPerson, [id]);
  if (account === undefined) {
    throw new AppError({ code: 'NO_PASSWORD', message: 'You sign in through an issuer and have no password here.' });
  }
  // A stolen session must not be enough to guess the password.
  const attempt = { subject: `password of ${id}`, address: client.address };
  await takeAttempt(deps.database, attempt);
  if (!(await deps.passwords.verify(current_password, account.password_hash))) {
    throw invalid('current_password', 'is not your password');
  }
  const hash = await deps.passwords.hash(new_password);
  await deps.database.transaction(async (tx) => {
    if (!(await setPassword(tx, id, { hash, former: account.password_hash }))) {
      throw invalid('current_password', 'was changed at the same time');
    }
    await deps.sessions.endAll(id, sessionId, tx);
  });
  await attemptSucceeded(deps.database, attempt);
  deps.tokens.forget();
}
