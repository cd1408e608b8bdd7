import { statement } from '@davit/db';

export interface PasskeyRow {
  readonly id: string;
  readonly name: string;
  readonly is_synced: boolean;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

const columns = 'id, name, is_synced, created_at, last_used_at';

export const passkeyList = statement<PasskeyRow & { readonly credential_id: string }>(
  'passkey_list',
  `select ${columns}, credential_id from passkey where person_id = $1 order by created_at, id`,
);

/**
 * Locks an account until the transaction ends, so that its passkeys can be counted. Returns nothing if the password was
 * changed. `$2`: the SHA-256 digest of the password's stored hash when the challenge was made.
 */
export const passkeysLock = statement<{ person_id: string }>(
  'passkeys_lock',
  `select person_id from local_account
    where person_id = $1 and encode(sha256(convert_to(password_hash, 'UTF8')), 'hex') = $2 for update`,
);

/**
 * Creates a passkey, unless the account has `$8` of them. Needs the lock of `passkeysLock`, taken by an earlier
 * statement: a statement that waits for a lock counts what there was before it waited.
 */
export const passkeyCreate = statement<PasskeyRow>(
  'passkey_create',
  `insert into passkey (id, person_id, name, credential_id, public_key, counter, is_synced)
   select $1, $2, $3, $4, $5, $6, $7 where (select count(*) from passkey where person_id = $2) < $8::int
   returning ${columns}`,
);

export const passkeyRename = statement<PasskeyRow>(
  'passkey_rename',
  `update passkey set name = $3 where person_id = $1 and id = $2 returning ${columns}`,
);

export const passkeyDelete = statement('passkey_delete', 'delete from passkey where person_id = $1 and id = $2');

/** Locks a passkey until the transaction ends. */
export const passkeyStands = statement<{ id: string }>('passkey_stands', 'select id from passkey where id = $1 for share');

export const passkeysDelete = statement('passkeys_delete', 'delete from passkey where person_id = $1');

export interface StoredPasskey {
  readonly id: string;
  readonly person_id: string;
  readonly email: string;
  readonly public_key: Buffer;
  readonly counter: number;
}

export const passkeyByCredential = statement<StoredPasskey>(
  'passkey_by_credential',
  `select passkey.id, passkey.person_id, local_account.email, passkey.public_key, passkey.counter
     from passkey join local_account on local_account.person_id = passkey.person_id where passkey.credential_id = $1`,
);

/** Notes a use with the counter `$2`. Of concurrent uses with the same counter one succeeds. */
export const passkeyUse = statement(
  'passkey_use',
  `update passkey set counter = $2::bigint, last_used_at = clock_timestamp()
    where id = $1 and (counter < $2::bigint or (counter = 0 and $2::bigint = 0))`,
);
