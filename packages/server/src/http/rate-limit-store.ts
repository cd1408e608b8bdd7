import { statement } from '@davit/db';

// clock_timestamp() is used so that a statement that waited is counted in the minute in which it is written.
const minuteOf = (at: string): string => `floor(extract(epoch from ${at}) / 60)::bigint`;

export interface ExchangedRow {
  readonly minute: number;
  /** The time of the database, in milliseconds since 1970. */
  readonly now: number;
  readonly keys: readonly string[];
  readonly counts: readonly number[];
}

/**
 * Writes the counts of one process ($1) for one minute ($2), unless that minute is over: keys ($3) and counts ($4).
 * Returns the current minute and the sums of all other processes for it, limited to the $5 keys with the highest sums.
 *
 * Each process writes its own rows, so that none waits for another. `count` replaces the stored count, so a statement
 * whose outcome is unknown may be repeated.
 */
export const countsExchange = statement<ExchangedRow>(
  'rate_counts_exchange',
  `with present as materialized (select clock_timestamp() as at),
   current as materialized (select at, ${minuteOf('at')} as minute from present),
   written as (
     insert into rate_count (minute, key, process, count)
     select current.minute, decode(own.key, 'hex'), $1::uuid, own.count
       from current, unnest($3::text[], $4::int[]) as own (key, count)
      where current.minute = $2
     on conflict (minute, key, process) do update set count = excluded.count
   ),
   others as (
     select encode(key, 'hex') as key, least(sum(count), 2147483647)::int as count
       from rate_count
      where minute = (select minute from current) and process <> $1
      group by rate_count.key
      order by sum(count) desc
      limit $5
   )
   select current.minute, (extract(epoch from at) * 1000)::float8 as now,
          (select coalesce(array_agg(key), '{}') from others) as keys,
          (select coalesce(array_agg(count), '{}') from others) as counts
     from current`,
);

/**
 * Deletes the rows of all minutes but the current one. Rows of later minutes are deleted too, because they would count
 * again after the server's clock was set back. Several processes run this concurrently; each skips the rows that
 * another one has locked.
 */
export const countsForget = statement(
  'rate_counts_forget',
  `delete from rate_count
    where ctid = any (array(
      select ctid from rate_count where minute <> ${minuteOf('clock_timestamp()')} limit 100000 for update skip locked))`,
);
