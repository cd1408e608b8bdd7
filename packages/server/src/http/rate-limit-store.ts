import { statement } from '@davit/db';

// clock_timestamp: what waited for its turn is of the minute in which it is written.
const minuteOf = (at: string): string => `floor(extract(epoch from ${at}) / 60)::bigint`;

export interface ExchangedRow {
  readonly minute: number;
  readonly millisecondsLeft: number;
  readonly keys: readonly string[];
  readonly counts: readonly number[];
}

/**
 * Writes what a process ($1) has counted in a minute ($2), if it is still that minute: keys ($3) and counts ($4). Tells which minute it is, and what all
 * other processes have counted in it: the $5 keys with the most.
 *
 * Each process writes its own rows, so that none waits for another. `count` takes the place of what was there: a statement of which nobody knows
 * whether it was carried out may be repeated.
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
   select current.minute, (60000 * (current.minute + 1) - extract(epoch from at) * 1000)::float8 as "millisecondsLeft",
          (select coalesce(array_agg(key), '{}') from others) as keys,
          (select coalesce(array_agg(count), '{}') from others) as counts
     from current`,
);

/**
 * Removes what is not of the present minute: also of a later one, which would count again after the server's clock was set back. Several processes
 * do it at once; what one of them has in hand the others leave to it.
 */
export const countsForget = statement(
  'rate_counts_forget',
  `delete from rate_count
    where ctid = any (array(
      select ctid from rate_count where minute <> ${minuteOf('clock_timestamp()')} limit 100000 for update skip locked))`,
);
