import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { AppError } from '@davit/base';
import { statement, type Queryable } from '@davit/db';

/** RATE_LIMITED, with the seconds until the next attempt is allowed, which are the header `Retry-After`. */
export class TooManyAttempts extends AppError {
  readonly seconds: number;

  constructor(seconds: number, message = 'Too many attempts.') {
    super({ code: 'RATE_LIMITED', message: `${message} Try again in ${seconds} s.` });
    this.seconds = seconds;
  }
}

interface Limit {
  /** Attempts without a delay. */
  readonly free: number;
  /** Longest delay in seconds. */
  readonly longest: number;
}

/**
 * The delay after an attempt doubles with each further one. An account is delayed less than an address, because anybody
 * can delay the account of another person.
 */
const limits = {
  account: { free: 5, longest: 60 },
  address: { free: 30, longest: 900 },
} as const satisfies Readonly<Record<string, Limit>>;

/**
 * Counts an attempt ($1: key) and sets when the next one is allowed ($2: attempts without a delay, $3: longest delay).
 * Changes nothing while no attempt is allowed. Concurrent attempts with one key wait for each other's row.
 */
const attemptTake = statement<{ count: number }>(
  'sign_in_attempt_take',
  `insert into sign_in_attempt as known (key, count, last_at, free_at) values ($1, 1, clock_timestamp(), clock_timestamp())
   on conflict (key) do update
      set count = case when known.last_at < clock_timestamp() - interval '1 day' then 1 else known.count + 1 end,
          last_at = clock_timestamp(),
          free_at = clock_timestamp() + case when known.last_at < clock_timestamp() - interval '1 day' or known.count < $2::int
            then interval '0' else make_interval(secs => least($3::int, 2 ^ least(known.count - $2::int, 20))) end
    where known.free_at <= clock_timestamp()
   returning count`,
);

const attemptWait = statement<{ seconds: number }>(
  'sign_in_attempt_wait',
  'select greatest(1, ceil(extract(epoch from free_at - clock_timestamp())))::int as seconds from sign_in_attempt where key = $1',
);

/** Deletes the counter of the account ($1) and old counters, and gives the address ($2) its attempt back. */
const attemptGood = statement(
  'sign_in_attempt_good',
  `with old as (delete from sign_in_attempt where key = $1 or (last_at < clock_timestamp() - interval '1 day' and key <> $2))
   update sign_in_attempt set count = greatest(0, count - 1), free_at = clock_timestamp() where key = $2`,
);

export interface Attempt {
  /** Name of the secret that is guessed: an e-mail address, a person, or a kind of link. */
  readonly subject: string;
  /** Address of the client. */
  readonly address: string;
}

/**
 * Counts an attempt to guess a secret, before the secret is compared: parallel attempts must count too. Throws
 * `TooManyAttempts`. Returns how many attempts in a row there were at this secret, with this one.
 */
export async function takeAttempt(database: Queryable, attempt: Attempt): Promise<number> {
  await take(database, addressKey(attempt), limits.address);
  return take(database, subjectKey(attempt), limits.account);
}

/** Takes an attempt back that was successful. */
export async function attemptSucceeded(database: Queryable, attempt: Attempt): Promise<void> {
  await database.run(attemptGood, [subjectKey(attempt), addressKey(attempt)]);
}

async function take(database: Queryable, key: Buffer, { free, longest }: Limit): Promise<number> {
  const taken = await database.maybe(attemptTake, [key, free, longest]);
  if (taken !== undefined) return taken.count;
  const wait = await database.maybe(attemptWait, [key]);
  throw new TooManyAttempts(wait?.seconds ?? 1);
}

// Keys are hashed, so that the table contains no addresses and all rows have one size.
function subjectKey({ subject }: Attempt): Buffer {
  return createHash('sha256').update(`subject ${subject}`).digest();
}

function addressKey({ address }: Attempt): Buffer {
  return createHash('sha256')
    .update(`address ${networkOf(address)}`)
    .digest();
}

/** Returns the part of an address that a client cannot choose: of IPv6, the first 64 bits. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = '', tail] = address.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const missing = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail ?? '')];
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
