import { accessChannel, openDatabase, statement, type Database, type Statement } from '@davit/db';
import { expect } from 'vitest';

const revoke = statement(
  'test_revoke_elsewhere',
  `with gone as (delete from api_token where id = $1 returning id) select pg_notify('${accessChannel}', id::text) from gone`,
);

/** Deletes a token as another process would: past this one's memory. */
export async function revokeElsewhere(connectionString: string, id: string): Promise<void> {
  const database = openDatabase({ connectionString, applicationName: 'davit test', maximumConnections: 1 });
  try {
    await database.run(revoke, [id]);
  } finally {
    await database.close();
  }
}

// One that changes the schema is not declared: PostgreSQL cannot prepare it, as a test of all that are declared does.
const breakGitTokens: Statement = {
  name: 'test_break_git_tokens',
  text: 'alter table git_token rename to secret_detail',
  changes: true,
  takesRequest: false,
};

/** Makes reads of git tokens fail in a way that nobody foresaw. */
export async function breakDatabase(database: Database): Promise<void> {
  await database.run(breakGitTokens);
}

/** Waits until the window of the rate limit lasts that long yet, so that it does not end in the middle of what is counted. */
export async function untilWindowLasts(seconds: number, left: () => Promise<number>): Promise<void> {
  await expect.poll(left, { interval: 100 }).toBeGreaterThan(seconds);
}

/** How long the window of a server's rate limit lasts yet, asked without being counted. */
export async function windowSecondsLeft({ baseUrl }: { readonly baseUrl: string }): Promise<number> {
  const { headers } = await fetch(`${baseUrl}/healthz`);
  return Number(headers.get('x-ratelimit-reset'));
}
