import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { statement, type Queryable } from '@davit/db';
import { attemptSucceeded, takeAttempt, type Attempt } from '../../auth/attempts.ts';
import type { Caller } from '../../auth/caller.ts';
import { matchingStep, newTotpSecret, toBase32, totpUrl } from '../../auth/totp.ts';
import type { Needs } from '../../deps.ts';
import type { ClientFacts } from '../../http/client-facts.ts';
import { invalid } from '../shared/problems.ts';
import { personOf } from './account.ts';
import { recordPersonEvent } from './audit.ts';
import { confirmPassword } from './password.ts';

type Secret = Response<(typeof operations)['createSecondFactor']>;
type Codes = Response<(typeof operations)['confirmSecondFactor']>;
type WithPassword = Body<(typeof operations)['createSecondFactor']>;
type Deps = Needs<'database' | 'tokens' | 'sessions' | 'passwords' | 'vault', 'passwords'>;
interface FromPerson {
  readonly caller: Caller;
  readonly client: ClientFacts;
}

interface FactorRow {
  readonly sealed: Buffer;
  readonly is_confirmed: boolean;
}

const recoveryCodes = 10;
// 10 bytes are 16 letters of base32. Codes of 80 random bits may have a fast hash.
const recoveryBytes = 10;

const factorRead = statement<FactorRow>(
  'second_factor_read',
  `select sealed, confirmed_at is not null as is_confirmed from second_factor where person_id = $1`,
);

/** Stores a secret that is not confirmed. A confirmed one is not replaced. */
const factorCreate = statement(
  'second_factor_create',
  `insert into second_factor as known (person_id, sealed) values ($1, $2)
   on conflict (person_id) do update set sealed = excluded.sealed, last_step = 0 where known.confirmed_at is null`,
);

/** Accepts the code of a step ($2) once: the codes of this and earlier steps are refused from now on. */
const stepTake = statement(
  'second_factor_step_take',
  'update second_factor set last_step = $2::bigint where person_id = $1 and last_step < $2::bigint',
);

/**
 * Locks an account against sign-ins until the transaction ends. One that waits then sees that a second factor is
 * needed.
 */
const accountLock = statement(
  'second_factor_account_lock',
  'select person_id from local_account where person_id = $1 for update',
);

/** Confirms a secret ($3) by the code of a step ($2), unless another secret has taken its place or it is confirmed. */
const factorConfirm = statement(
  'second_factor_confirm',
  `update second_factor set last_step = $2::bigint, confirmed_at = clock_timestamp()
    where person_id = $1 and confirmed_at is null and sealed = $3::bytea`,
);

const codesCreate = statement(
  'recovery_codes_create',
  'insert into recovery_code (person_id, code_hash) select $1, unnest($2::bytea[])',
);

const codeTake = statement('recovery_code_take', 'delete from recovery_code where person_id = $1 and code_hash = $2');

const factorDelete = statement('second_factor_delete', 'delete from second_factor where person_id = $1');

/** Removes the second factor of the account with an e-mail address, for the operator. */
export const factorDeleteByEmail = statement(
  'second_factor_delete_by_email',
  'delete from second_factor where person_id = (select person_id from local_account where email = $1)',
);

/** Returns a new secret, for the application of the person. ALREADY_EXISTS, NO_PASSWORD, VALIDATION_FAILED. */
export async function createSecondFactor(deps: Deps, from: FromPerson, { password }: WithPassword): Promise<Secret> {
  const account = await confirmPassword(deps, from, { field: 'password', password });
  const secret = newTotpSecret();
  const sealed = deps.vault.seal(account.person_id, secret);
  if ((await deps.database.run(factorCreate, [account.person_id, sealed])) === 0) {
    throw new AppError({ code: 'ALREADY_EXISTS', message: 'You have a second factor already. Remove it first.' });
  }
  return { secret, url: totpUrl(secret, account.email) };
}

/** Confirms the secret and returns the recovery codes. NOTHING_TO_CONFIRM, VALIDATION_FAILED, RATE_LIMITED. */
export async function confirmSecondFactor(deps: Deps, { caller, client }: FromPerson, code: string): Promise<Codes> {
  const { id, sessionId } = personOf(caller);
  const factor = await deps.database.maybe(factorRead, [id]);
  if (factor === undefined || factor.is_confirmed) throw nothingToConfirm();
  const attempt = attemptOf(id, client);
  await takeAttempt(deps.database, attempt);
  const step = matchingStep(deps.vault.open(id, factor.sealed), code, Date.now());
  const codes = Array.from({ length: recoveryCodes }, newRecoveryCode);
  await deps.database.transaction(async (tx) => {
    if (step === undefined) throw invalid('code', 'is not the present code');
    await tx.maybe(accountLock, [id]);
    if ((await tx.run(factorConfirm, [id, step, factor.sealed])) === 0) throw nothingToConfirm();
    await tx.run(codesCreate, [id, codes.map(hashOf)]);
    // These sessions began without the second factor.
    await deps.sessions.endAll(id, sessionId, tx);
    await recordPersonEvent(tx, id, { type: 'CREATE', part: 'SECOND_FACTOR', operation: 'confirmSecondFactor', client });
  });
  await attemptSucceeded(deps.database, attempt);
  deps.tokens.forget();
  return { recovery_codes: codes };
}

/** Removes the second factor. NO_PASSWORD, VALIDATION_FAILED. */
export async function deleteSecondFactor(deps: Deps, from: FromPerson, { password }: WithPassword): Promise<void> {
  const { person_id } = await confirmPassword(deps, from, { field: 'password', password });
  const { client } = from;
  if ((await deps.database.run(factorDelete, [person_id])) === 0) return;
  await recordPersonEvent(deps.database, person_id, {
    type: 'DELETE',
    part: 'SECOND_FACTOR',
    operation: 'deleteSecondFactor',
    client,
  });
}

/**
 * Throws SECOND_FACTOR_REQUIRED if the person has a second factor by now. For a sign-in without a code, in the
 * transaction that begins its session, after `accountStands`: the second factor may have been confirmed in between.
 */
export async function assertNoSecondFactor(tx: Queryable, personId: string): Promise<void> {
  const factor = await tx.maybe(factorRead, [personId]);
  if (factor?.is_confirmed === true) throw refused(codeWanted);
}

/**
 * Throws SECOND_FACTOR_REQUIRED if the person has a second factor and `code` is neither its present code nor a recovery
 * code. Each code is accepted once. Returns whether the person has a second factor.
 */
export async function requireSecondFactor(
  deps: Needs<'database' | 'vault'>,
  { personId, code, client }: { readonly personId: string; readonly code: string | undefined; readonly client: ClientFacts },
): Promise<boolean> {
  const factor = await deps.database.maybe(factorRead, [personId]);
  if (factor === undefined || !factor.is_confirmed) return false;
  if (code === undefined) throw refused(codeWanted);
  const attempt = attemptOf(personId, client);
  await takeAttempt(deps.database, attempt);
  const step = matchingStep(deps.vault.open(personId, factor.sealed), code.trim(), Date.now());
  const isTaken =
    step === undefined
      ? await takeRecoveryCode(deps.database, personId, code)
      : await deps.database.run(stepTake, [personId, step]);
  if (isTaken === 0) throw refused('The code is wrong or was used already. Wait for the next one.');
  await attemptSucceeded(deps.database, attempt);
  return true;
}

function takeRecoveryCode(database: Queryable, personId: string, code: string): Promise<number> {
  return database.run(codeTake, [personId, hashOf(code.trim().toUpperCase())]);
}

function attemptOf(personId: string, { address }: ClientFacts): Attempt {
  return { subject: `second factor of ${personId}`, address };
}

function newRecoveryCode(): string {
  return (toBase32(randomBytes(recoveryBytes)).match(/.{4}/g) ?? []).join('-');
}

function hashOf(code: string): Buffer {
  return createHash('sha256').update(code).digest();
}

const codeWanted = 'Send the present code of your second factor, or a recovery code, as `code`.';

function nothingToConfirm(): AppError {
  return new AppError({ code: 'NOTHING_TO_CONFIRM', message: 'There is no second factor that waits for a code.' });
}

function refused(message: string): AppError {
  return new AppError({ code: 'SECOND_FACTOR_REQUIRED', message });
}
