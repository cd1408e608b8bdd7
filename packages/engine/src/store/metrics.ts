import { statement } from '@davit/db';
import type { MetricsTotal } from '../port/metrics.ts';

/** Measurements of a service from one pass. */
export interface MeasuredRow {
  readonly service_id: string;
  readonly instances: number;
  /** Seconds in which `cpu_ms` was used, averaged over the instances; 0 if no instance has been measured yet. */
  readonly measured_seconds: number;
  readonly cpu_ms: number;
  readonly memory_bytes: number;
  readonly received_bytes: number;
  readonly sent_bytes: number;
  readonly volume_bytes: number | null;
  readonly requests: number;
  /** Number of requests by response class and, in `latency`, by latency bucket; null if there were no requests. */
  readonly responses: readonly number[] | null;
  readonly latency: readonly number[] | null;
}

const measured = `jsonb_to_recordset($1::jsonb) AS r(service_id uuid, instances integer, measured_seconds double precision,
  cpu_ms double precision, memory_bytes double precision, received_bytes bigint, sent_bytes bigint, volume_bytes bigint, requests bigint,
  responses bigint[], latency bigint[])`;

const columns = `service_id, seconds, at, samples, measured_seconds, instances_sum, instances_max, cpu_ms, memory_sum, memory_max,
  received_bytes, sent_bytes, volume_bytes, requests, responses, latency`;

const addedToRow = `on conflict (service_id, seconds, at) do update set
    samples = m.samples + excluded.samples,
    measured_seconds = m.measured_seconds + excluded.measured_seconds,
    instances_sum = m.instances_sum + excluded.instances_sum,
    instances_max = greatest(m.instances_max, excluded.instances_max),
    cpu_ms = m.cpu_ms + excluded.cpu_ms,
    memory_sum = m.memory_sum + excluded.memory_sum,
    memory_max = greatest(m.memory_max, excluded.memory_max),
    received_bytes = m.received_bytes + excluded.received_bytes,
    sent_bytes = m.sent_bytes + excluded.sent_bytes,
    volume_bytes = coalesce(excluded.volume_bytes, m.volume_bytes),
    requests = m.requests + excluded.requests,
    responses = added_counts(m.responses, excluded.responses),
    latency = added_counts(m.latency, excluded.latency)`;

/** Adds a pass to the row of the current minute. */
export const addToMinute = statement(
  'add_to_minute',
  `insert into service_metric as m (${columns})
   select r.service_id, 60, date_trunc('minute', clock_timestamp()), 1, r.measured_seconds, r.instances, r.instances, r.cpu_ms,
          r.memory_bytes, r.memory_bytes, r.received_bytes, r.sent_bytes, r.volume_bytes, r.requests, r.responses, r.latency
     from ${measured}
   ${addedToRow}`,
);

export const addToTotals = statement(
  'add_to_totals',
  `insert into service_metric_total as m (service_id, measured_at, instances, memory_bytes, volume_bytes, cpu_ms, received_bytes, sent_bytes,
                                          requests, responses, latency)
   select r.service_id, clock_timestamp(), r.instances, r.memory_bytes, r.volume_bytes, r.cpu_ms, r.received_bytes, r.sent_bytes,
          r.requests, r.responses, r.latency
     from ${measured}
   on conflict (service_id) do update set
     measured_at = excluded.measured_at, instances = excluded.instances, memory_bytes = excluded.memory_bytes,
     volume_bytes = coalesce(excluded.volume_bytes, m.volume_bytes),
     cpu_ms = m.cpu_ms + excluded.cpu_ms,
     received_bytes = m.received_bytes + excluded.received_bytes,
     sent_bytes = m.sent_bytes + excluded.sent_bytes,
     requests = m.requests + excluded.requests,
     responses = added_counts(m.responses, excluded.responses),
     latency = added_counts(m.latency, excluded.latency)`,
);

export const minutesKeptFor = 120;
/** Age in minutes up to which there are rows of five minutes. */
export const fiveMinutesKeptFor = 1440;
const daysKept = 30;

const sums = `sum(samples)::integer AS samples, sum(measured_seconds) AS measured_seconds, sum(instances_sum)::integer AS instances_sum,
  max(instances_max) AS instances_max, sum(cpu_ms) AS cpu_ms, sum(memory_sum) AS memory_sum, max(memory_max) AS memory_max,
  sum(received_bytes)::bigint AS received_bytes, sum(sent_bytes)::bigint AS sent_bytes, max(volume_bytes) AS volume_bytes,
  sum(requests)::bigint AS requests, sum_counts(responses) AS responses, sum_counts(latency) AS latency`;

/** Returns SQL for the beginning of the step that contains a time. */
const binOf = (seconds: number, time = 'at'): string => `date_bin('${seconds} seconds', ${time}, timestamptz 'epoch')`;

/**
 * Returns SQL that replaces rows by rows of longer steps, as soon as a whole step is old enough. A single statement
 * guarantees that every row is counted exactly once.
 */
const condensed = (from: number, to: number, afterMinutes: number): string => `with old as (
     delete from service_metric
      where seconds = ${from} and at < ${binOf(to, `clock_timestamp() - interval '${afterMinutes} minutes'`)}
     returning *)
   insert into service_metric as m (${columns})
   select service_id, ${to}, ${binOf(to)} as at, ${sums} from old group by service_id, ${binOf(to)}
   ${addedToRow}`;

/** Replaces old one-minute rows by five-minute rows. */
export const condenseMetrics = statement('condense_metrics', condensed(60, 300, minutesKeptFor));

/** Replaces old five-minute rows by rows of an hour. Reads the whole table: 0.4 s for a million rows. */
export const condenseToHours = statement('condense_metrics_to_hours', condensed(300, 3600, fiveMinutesKeptFor));

/**
 * Deletes rows that are older than all steps that can be read. Reads the whole table. Programs that do not know hours
 * (migration 0048, whose comment is wrong there) delete all rows older than a day, so a downgrade loses the hours.
 */
export const trimMetrics = statement(
  'trim_metrics',
  `delete from service_metric where at < clock_timestamp() - interval '${daysKept} days 1 hour'`,
);

export const removeMetrics = statement('remove_metrics', `delete from service_metric where service_id = $1`);

/** Deletes counters of services that the engine no longer knows. */
export const trimTotals = statement(
  'trim_totals',
  `delete from service_metric_total t
    where not exists (select 1 from service_runtime r where r.service_id = t.service_id) and t.measured_at < clock_timestamp() - interval '5 minutes'`,
);

export interface MetricRow {
  readonly at: string;
  readonly samples: number;
  readonly measured_seconds: number;
  readonly instances_sum: number;
  readonly instances_max: number;
  readonly cpu_ms: number;
  readonly memory_sum: number;
  readonly memory_max: number;
  readonly received_bytes: number;
  readonly sent_bytes: number;
  readonly volume_bytes: number | null;
  readonly requests: number;
  readonly responses: readonly number[] | null;
  readonly latency: readonly number[] | null;
}

/** Parameters: service, age limit in minutes, seconds of a step. Oldest first. */
export const readMetrics = statement<MetricRow>(
  'read_metrics',
  `select date_bin(make_interval(secs => $3), at, timestamptz 'epoch') as at, ${sums} from service_metric
    where service_id = $1 and seconds <= $3
      and at >= date_bin(make_interval(secs => $3), clock_timestamp() - make_interval(mins => $2), timestamptz 'epoch')
    group by 1 order by 1`,
);

export interface TotalRow extends Omit<MeasuredRow, 'measured_seconds'> {
  readonly organization_id: string;
  readonly project_id: string;
  readonly environment_id: string;
  /** Whether the last measurement is recent enough for `instances` and their usage to be current. */
  readonly is_fresh: boolean;
  /** Number of instances that ended, by cause; null if none has ended. */
  readonly ends: Readonly<Record<string, number>> | null;
  /** The open conditions; null if there are none. */
  readonly conditions: MetricsTotal['conditions'] | null;
}

/** Returns the bytes that the volumes of these services held at the last count. */
export const heldVolumeBytes = statement<{ service_id: string; volume_bytes: number }>(
  'held_volume_bytes',
  `select service_id, volume_bytes from service_metric_total where service_id = any ($1::uuid[]) and volume_bytes is not null`,
);

/** Returns the totals of all services that the engine knows. */
export const readTotals = statement<TotalRow>(
  'read_totals',
  `select r.service_id, r.organization_id, r.project_id, r.environment_id, t.instances, t.memory_bytes, t.volume_bytes,
          coalesce(t.cpu_ms, 0) as cpu_ms, coalesce(t.received_bytes, 0) as received_bytes, coalesce(t.sent_bytes, 0) as sent_bytes,
          coalesce(t.requests, 0) as requests, t.responses, t.latency,
          coalesce(t.measured_at > clock_timestamp() - interval '2 minutes', false) as is_fresh, e.ends, c.conditions
     from service_runtime r left join service_metric_total t on t.service_id = r.service_id
     left join (select service_id, jsonb_object_agg(cause, ends) as ends from service_end_total group by service_id) e on e.service_id = r.service_id
     left join (select service_id, jsonb_agg(jsonb_build_object('kind', kind, 'code', failure ->> 'code', 'severity', severity)
                         order by kind) as conditions
                  from service_condition group by service_id) c on c.service_id = r.service_id
    where t.service_id is not null or e.service_id is not null or c.service_id is not null
    order by r.service_id`,
);
