import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';
import { openConnection } from './connection.ts';
import { toFailure } from './failures.ts';
import { statement } from './statement.ts';

/**
 * A lock that lives exactly as long as its connection: it is gone when the process dies, however it dies. Where its machine or the network
 * dies the process gives it up within 15 seconds, and the server within half a minute: until then nobody has it.
 */
export interface SessionLock {
  /** Whether this process still holds it. */
  readonly held: boolean;
  /** Resolves once the lock is gone, by `release` or because the connection was lost. Its holder must stop then. */
  readonly lost: Promise<void>;
  release(): Promise<void>;
}

/**
 * Takes the lock of this name in the database of `connectionString`, or gives null when another session has it. Uses a
 * connection of its own. Throws `DatabaseUnavailable` when the server cannot be reached.
 */
export async function acquireSessionLock(connectionString: string, name: string): Promise<SessionLock | null> {
  const connection = await openConnection(connectionString, `davit lock ${name}`.slice(0, 63));
  try {
    const { rows } = await connection.client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [
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
    // Where it only did not answer in time its session lives on, and with it the lock, which nobody could take then.
    connection.close().catch(() => undefined);
  })();
  return {
    get held() {
      return held;
    },
    lost,
    release: async () => {
      // The server notices a closed connection a moment later only; whoever comes next must not find the lock taken.
      if (held) await connection.client.query('SELECT pg_advisory_unlock_all()').catch(() => undefined);
      await connection.close();
      await lost;
    },
  };
}

const lockHolders = statement<{ key: string }>(
  'lockHolders',
  `SELECT wanted.key::text AS key
     FROM unnest($1::bigint[]) AS wanted(key)
     JOIN pg_locks ON pg_locks.locktype = 'advisory'
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND pg_locks.classid::bigint = (wanted.key >> 32) & 4294967295
      AND pg_locks.objid::bigint = wanted.key & 4294967295
      AND pg_locks.objsubid = 1
      AND pg_locks.granted`,
);

/** Which of these locks are held by some session now. Tells a living process from a dead one without taking its lock. */
export async function heldSessionLocks(database: Queryable, names: readonly string[]): Promise<Set<string>> {
  const nameOf = new Map(names.map((name) => [lockKey(name), name]));
  const rows = await database.many(lockHolders, [[...nameOf.keys()]]);
  return new Set(rows.map(({ key }) => nameOf.get(key) ?? key));
}

/** PostgreSQL's locks are numbers of 64 bits: the first of the name's SHA-256. As text, as it may not fit a number. */
export function lockKey(name: string): string {
  return createHash('sha256').update(`davit:${name}`).digest().readBigInt64BE(0).toString();
}
