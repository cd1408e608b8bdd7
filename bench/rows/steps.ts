import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { median } from '../statistics.ts';

interface StepRow {
  readonly name: string;
  readonly milliseconds: number[];
}

/**
 * Waits until no deployment is running. The keeper ends the old instances afterwards, which may overlap the next
 * measurement, as it does for users.
 */
export async function untilSettled(address: string): Promise<void> {
  const sql = new Client({ connectionString: address });
  await sql.connect();
  try {
    while ((await sql.query("select from deployment where status in ('QUEUED', 'RUNNING')")).rowCount !== 0) await pause(10);
  } finally {
    await sql.end();
  }
}

/**
 * Returns the median duration of each step in milliseconds, by name, and the time between the steps. The values come
 * from Davit's journal.
 */
export async function stepTimes(address: string): Promise<Record<string, number>> {
  const sql = new Client({ connectionString: address });
  await sql.connect();
  try {
    const { rows } = await sql.query<StepRow>(`
      with step as (
        select name, extract(epoch from finished_at - started_at) * 1000 as milliseconds from deployment_step where status = 'DONE'
        union all
        select '(request to start)', extract(epoch from started_at - created_at) * 1000 from deployment where status = 'SUCCEEDED'
        union all
        select '(start to end)', extract(epoch from finished_at - started_at) * 1000 from deployment where status = 'SUCCEEDED'
      )
      select name, array_agg(milliseconds::float8) as milliseconds from step group by name`);
    return Object.fromEntries(rows.map(({ name, milliseconds }) => [name, Math.round(median(milliseconds) * 10) / 10]));
  } finally {
    await sql.end();
  }
}
