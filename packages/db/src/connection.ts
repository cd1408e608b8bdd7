import { Client } from 'pg';
import { connectionSettings } from './database.ts';
import { toFailure } from './failures.ts';

/** A connection outside of the pool, for what belongs to a session: LISTEN and advisory locks. */
export interface DedicatedConnection {
  readonly client: Client;
  /** Resolves once the connection is gone, whoever ended it. */
  readonly lost: Promise<void>;
  close(): Promise<void>;
}

// A peer that vanished without a word (power, firewall) is noticed by a question that stays without an answer.
const questionEveryMilliseconds = 10_000;
const answerWithinMilliseconds = 5_000;

/** Opens a connection of its own; throws `DatabaseUnavailable` when the server cannot be reached. */
export async function openConnection(connectionString: string, applicationName: string): Promise<DedicatedConnection> {
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
    await client.connect();
  } catch (error) {
    throw toFailure(error);
  }
  timer = setInterval(() => void question(client), questionEveryMilliseconds);
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

async function question(client: Client): Promise<void> {
  const silence = setTimeout(() => client.emit('error', new Error('the database does not answer')), answerWithinMilliseconds);
  try {
    await client.query('SELECT 1');
  } catch (error) {
    client.emit('error', error);
  } finally {
    clearTimeout(silence);
  }
}
