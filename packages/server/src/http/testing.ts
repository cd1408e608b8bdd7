import { accessChannel, openDatabase, statement, type Database, type Statement } from '@davit/db';
import { expect } from 'vitest';

const revoke = statement(
  'test_revoke_elsewhere',
  `with gone as (delete from api_token where id = $1 returning id) select pg_notify('${accessChannel}', id::text) from gone`,
);

/** Deletes a token as another process would: without clearing this process's cache. */
export async function revokeElsewhere(connectionString: string, id: string): Promise<void> {
  const database = openDatabase({ connectionString, applicationName: 'davit test', maximumConnections: 1 });
  try {
    await database.run(revoke, [id]);
  } finally {
    await database.close();
  }
}

// A statement that changes the schema is not declared with `statement`: PostgreSQL cannot prepare it, and a test
// prepares all declared statements.
const breakGitTokens: Statement = {
  name: 'test_break_git_tokens',
  text: 'alter table git_token rename to secret_detail',
  changes: true,
};

/** Makes reads of git tokens fail in an unexpected way. */
export async function breakDatabase(database: Database): Promise<void> {
  await database.run(breakGitTokens);
}

/**
 * Waits until the present window of the rate limit lasts at least `seconds` more, so that it does not end during the
 * test.
 */
export async function untilWindowLasts(seconds: number, left: () => Promise<number>): Promise<void> {
  await expect.poll(left, { interval: 100 }).toBeGreaterThan(seconds);
}

/** Returns the seconds until a server's rate-limit window ends, through a request that is not counted. */
export async function windowSecondsLeft({ baseUrl }: { readonly baseUrl: string }): Promise<number> {
  const { headers } = await fetch(`${baseUrl}/healthz`);
  return Number(headers.get('x-ratelimit-reset'));
}
