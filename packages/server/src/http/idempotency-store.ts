import { statement } from '@davit/db';

export interface KeyRow {
  readonly id: string;
  readonly sealed: Buffer;
  readonly is_answered: boolean;
  readonly has_changed: boolean;
  readonly runner: string;
}

/**
 * Claims a key. Parameters: id, actor, key, sealed, runner. Returns no row if the key is already taken. A key older
 * than 24 hours is replaced.
 */
export const keyClaim = statement<{ id: string }>(
  'idempotency_claim',
  `insert into idempotency_key as known (id, actor, key, sealed, runner) values ($1, $2, $3, $4, $5)
   on conflict (actor, key) do update
     set id = excluded.id, sealed = excluded.sealed, runner = excluded.runner, is_answered = false, has_changed = false,
         created_at = clock_timestamp()
   where known.created_at < clock_timestamp() - interval '24 hours'
   returning id`,
);

/** Parameters: actor, key. */
export const keyRead = statement<KeyRow>(
  'idempotency_read',
  'select id, sealed, is_answered, has_changed, runner from idempotency_key where actor = $1 and key = $2',
);

export const keyAnswer = statement(
  'idempotency_answer',
  'update idempotency_key set sealed = $2, is_answered = true where id = $1',
);

/** Deletes a key without an answer and without a change. Waits for a change that is being written. */
export const keyForgetUnused = statement(
  'idempotency_forget_unused',
  'delete from idempotency_key where id = $1 and not is_answered and not has_changed',
);

export const keysTrim = statement(
  'idempotency_trim',
  `delete from idempotency_key where created_at < clock_timestamp() - interval '24 hours'`,
);
