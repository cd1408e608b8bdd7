import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';
import { openConnection } from './connection.ts';
import { toFailure } from './failures.ts';
import { statement } from './statement.ts';

/**
 * A lock that exists as long as its connection: it is released when the process dies, however it dies. If the machine
 * or the network fails, the process considers the lock lost within 15 seconds, and the server releases it within half a
 * minute. Until then no process holds it.
 */
export interface SessionLock {
  /** Whether this process still holds the lock. */
  readonly held: boolean;
  /** Resolves once the lock is lost, by `release` or by a lost connection. The holder must then stop its work. */
  readonly lost: Promise<void>;
  release(): Promise<void>;
}

/**
 * Acquires the lock of this name in the database of `connectionString`. Returns null if another session holds it. Uses
 * a dedicated connection. Throws `DatabaseUnavailable` if the server cannot be reached.
 */
export async function acquireSessionLock(connectionString: string, name: string): Promise<SessionLock | null> {
  const connection = await openConnection(connectionString, `davit lock ${name}`.slice(0, 63));
  try {
    const { rows } = await connection.client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      lockKey(name),
    ]);
    if (rows[0]?.taken !== true) {
      await connection.close();
      return null;
    }
  } catch (error) {
    await connection.close();
    throw toFailure(error);
  }
  let held = true;
  const lost = (async () => {
    await connection.lost;
    held = false;
    // If the server merely did not respond in time, the session survives and keeps the lock. Closing the connection
    // ends the session, so that another process can acquire the lock.
    connection.close().catch(() => undefined);
  })();
  return {
    get held() {
      return held;
    },
    lost,
    release: async () => {
      // The server notices a closed connection only after a moment. Until then the next process would find the lock
      // taken.
      if (held) await connection.client.query('select pg_advisory_unlock_all()').catch(() => undefined);
      await connection.close();
      await lost;
    },
  };
}

const lockHolders = statement<{ key: string }>(
  'lock_holders',
  `select wanted.key::text as key
     from unnest($1::bigint[]) as wanted(key)
     join pg_locks on pg_locks.locktype = 'advisory'
      and pg_locks.database = (select oid from pg_database where datname = current_database())
      and pg_locks.classid::bigint = (wanted.key >> 32) & 4294967295
      and pg_locks.objid::bigint = wanted.key & 4294967295
      and pg_locks.objsubid = 1
      and pg_locks.granted`,
);

/**
 * Returns which of these locks are held by any session. This distinguishes a living process from a dead one without
 * acquiring its lock.
 */
export async function heldSessionLocks(database: Queryable, names: readonly string[]): Promise<Set<string>> {
  const nameOf = new Map(names.map((name) => [lockKey(name), name]));
  const rows = await database.many(lockHolders, [[...nameOf.keys()]]);
  return new Set(rows.map(({ key }) => nameOf.get(key) ?? key));
}

/**
 * Returns the key of a lock. PostgreSQL's advisory locks are 64-bit numbers: the key is the first 64 bits of the name's
 * SHA-256. It is returned as text because it may not fit a number.
 */
export function lockKey(name: string): string {
  return createHash('sha256').update(`davit:${name}`).digest().readBigInt64BE(0).toString();
}
