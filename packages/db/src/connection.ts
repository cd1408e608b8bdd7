import { Client } from 'pg';
import { connectionSettings } from './database.ts';
import { ServerReadOnly, toFailure } from './failures.ts';
import { openSession, takesNoChanges } from './opening.ts';

/** A connection outside of the pool, for features that belong to a session: LISTEN and advisory locks. */
export interface DedicatedConnection {
  readonly client: Client;
  /** Resolves once the connection has ended, whichever side ended it. */
  readonly lost: Promise<void>;
  close(): Promise<void>;
}

// A server that disappears without closing its connection (power failure, firewall) is detected by a query without a
// response.
const questionEveryMilliseconds = 10_000;
const answerWithinMilliseconds = 5_000;

export interface ConnectionOptions {
  /** Whether a read-only server is acceptable. Default: no. */
  readonly readsOnly?: boolean;
}

/**
 * Opens a dedicated connection. Throws `DatabaseUnavailable` if the server cannot be reached or is read-only. The
 * connection also counts as lost once the server becomes read-only: the server may have become a standby, on which a
 * lock has no meaning.
 */
export async function openConnection(
  connectionString: string,
  applicationName: string,
  { readsOnly = false }: ConnectionOptions = {},
): Promise<DedicatedConnection> {
  const client = new Client(connectionSettings(connectionString, applicationName));
  let timer: NodeJS.Timeout | undefined;
  const lost = new Promise<void>((resolve) => {
    const end = (): void => {
      clearInterval(timer);
      resolve();
    };
    client.once('end', end);
    client.on('error', end);
  });
  try {
    await openSession(client, { readsOnly, answerWithinMilliseconds });
  } catch (error) {
    client.end().catch(() => undefined);
    throw toFailure(error);
  }
  timer = setInterval(() => void question(client, readsOnly), questionEveryMilliseconds);
  timer.unref();
  return {
    client,
    lost,
    close: async () => {
      clearInterval(timer);
      await client.end();
    },
  };
}

async function question(client: Client, readsOnly: boolean): Promise<void> {
  const silence = setTimeout(() => client.emit('error', new Error('the database does not answer')), answerWithinMilliseconds);
  try {
    const { rows } = await client.query<{ refuses: boolean }>(`select ${takesNoChanges} as refuses`);
    if (rows[0]?.refuses === true && !readsOnly) client.emit('error', new ServerReadOnly());
  } catch (error) {
    client.emit('error', error);
  } finally {
    clearTimeout(silence);
  }
}
