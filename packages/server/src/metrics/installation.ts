import { statement } from '@davit/db';
import { gauge, type Family } from './series.ts';

/**
 * The state of the whole installation in the database. Ages are in seconds by the clock of the database; null if there
 * is nothing to measure.
 */
export interface InstallationRow {
  readonly queue_ready: number;
  readonly queue_ready_seconds: number;
  readonly queue_blocked: number;
  readonly queue_blocked_seconds: number;
  readonly running: number;
  readonly running_seconds: number;
  readonly waiting_for_cluster: number;
  readonly steps: readonly { readonly name: string; readonly count: number; readonly seconds: number }[];
  readonly backed_databases: number;
  readonly unproven_databases: number;
  readonly oldest_proof_seconds: number | null;
  readonly last_proof_seconds: number | null;
  readonly valid_certificates: number;
  readonly expired_certificates: number;
  readonly missing_certificates: number;
  readonly failing_certificates: number;
  /** Certificates of Davit's own names. `seconds`: until it expires; null: there is none. */
  readonly own_certificates: readonly { host: string; is_failing: boolean; seconds: number | null }[];
  readonly soonest_expiry_seconds: number | null;
  readonly webhook_pending: number;
  readonly webhook_seconds: number;
  readonly git_pending: number;
  readonly git_seconds: number;
  readonly failing_repositories: number;
}

const age = (at: string): string => `extract(epoch from clock_timestamp() - ${at})::float8`;
// The clock is read once per part, not once per row: with ten thousand waiting rows, this takes a third of the time.
const oldest = (at: string, which = ''): string => `coalesce(${age(`min(${at})${which}`)}, 0)`;

/**
 * Reads everything in one query of a few milliseconds: each part uses an index of open rows, or a table of which an
 * installation has few rows. For a running managed database without a proven backup, the age is counted from its first
 * requested backup.
 */
export const readInstallation = statement<InstallationRow>(
  'metrics_installation',
  `with queued as (
     select q.created_at,
            row_number() over (partition by q.environment_id order by q.sequence) > 1
              or exists (select 1 from deployment r where r.environment_id = q.environment_id and r.status = 'RUNNING') as is_blocked
       from deployment q where q.status = 'QUEUED'
   ), queue as (
     select count(*) filter (where not is_blocked)::integer as queue_ready,
            ${oldest('created_at', ' filter (where not is_blocked)')} as queue_ready_seconds,
            count(*) filter (where is_blocked)::integer as queue_blocked,
            ${oldest('created_at', ' filter (where is_blocked)')} as queue_blocked_seconds
       from queued
   ), running as (
     select count(*)::integer as running, ${oldest('started_at')} as running_seconds, count(waiting_since)::integer as waiting_for_cluster
       from deployment where status = 'RUNNING'
   ), step as (
     select s.name, count(*)::integer as count, ${oldest('s.started_at')} as seconds
       from deployment d join deployment_step s on s.deployment_id = d.id
      where d.status = 'RUNNING' and d.waiting_since is null and s.status = 'RUNNING' group by s.name
   ), backed as (
     select (select max(b.proven_at) from database_backup b where b.service_id = s.id and b.status = 'GOOD') as proven_at,
            (select min(b.created_at) from database_backup b where b.service_id = s.id) as asked_at
       from database_backup_schedule d
       join service s on s.id = d.service_id and s.type = 'DATABASE' and s.spec ->> 'mode' = 'MANAGED'
       join service_runtime t on t.service_id = s.id and t.desired = 'RUNNING'
   ), backup as (
     select count(*)::integer as backed_databases, count(*) filter (where proven_at is null)::integer as unproven_databases,
            ${age('min(coalesce(proven_at, asked_at))')} as oldest_proof_seconds, ${age('max(proven_at)')} as last_proof_seconds
       from backed
   ), certified as (
     select count(*) filter (where sealed is not null and not_after > clock_timestamp())::integer as valid_certificates,
            count(*) filter (where sealed is not null and not_after <= clock_timestamp())::integer as expired_certificates,
            count(*) filter (where sealed is null)::integer as missing_certificates,
            count(*) filter (where attempts > 0)::integer as failing_certificates,
            -${age('min(not_after) filter (where sealed is not null)')} as soonest_expiry_seconds,
            coalesce(jsonb_agg(jsonb_build_object('host', host, 'is_failing', failure is not null,
                       'seconds', extract(epoch from not_after - clock_timestamp())::double precision))
              filter (where purpose = 'INSTALLATION'), '[]') as own_certificates
       from certificate
   ), delivery as (
     select count(*)::integer as webhook_pending, ${oldest('created_at')} as webhook_seconds
       from webhook_delivery where due_at is not null
   ), git as (
     select count(*)::integer as git_pending, ${oldest('created_at')} as git_seconds from git_event where due_at is not null
   )
   select queue.*, running.*, backup.*, certified.*, delivery.*, git.*,
          (select coalesce(jsonb_agg(to_jsonb(step)), '[]') from step) as steps,
          (select count(*)::integer from git_repository where failures > 0) as failing_repositories
     from queue, running, backup, certified, delivery, git`,
);

/** Returns the state as gauges. Each process returns the same values, so they must not be added up. */
export function installationFamilies(row: InstallationRow): Family[] {
  return [...queueFamilies(row), ...backupFamilies(row), ...certificateFamilies(row), ...backlogFamilies(row)];
}

const ready = { state: 'ready' };
const blocked = { state: 'blocked' };

function queueFamilies(row: InstallationRow): Family[] {
  return [
    gauge(
      'davit_queue_length',
      'Requests that wait: ready ones for a worker, blocked ones behind another of their environment.',
      [
        [ready, row.queue_ready],
        [blocked, row.queue_blocked],
      ],
    ),
    gauge('davit_queue_oldest_wait_seconds', 'Age of the oldest request that waits; 0: none does.', [
      [ready, row.queue_ready_seconds],
      [blocked, row.queue_blocked_seconds],
    ]),
    gauge('davit_deployments_running', 'Deployments under way.', row.running),
    gauge(
      'davit_deployments_waiting_for_cluster',
      'Deployments under way whose cluster is unreachable.',
      row.waiting_for_cluster,
    ),
    gauge(
      'davit_deployment_oldest_running_seconds',
      'Age of the oldest deployment under way; 0: there is none.',
      row.running_seconds,
    ),
    gauge(
      'davit_steps_running',
      'Steps under way, without those that wait for their cluster.',
      row.steps.map(({ name, count }) => [{ step: name }, count]),
    ),
    gauge(
      'davit_step_oldest_running_seconds',
      'Age of the oldest step under way, since its first begin.',
      row.steps.map(({ name, seconds }) => [{ step: name }, seconds]),
    ),
  ];
}

function backupFamilies(row: InstallationRow): Family[] {
  return [
    gauge('davit_backup_databases', 'Databases that are backed up by schedule.', row.backed_databases),
    gauge('davit_backup_unproven_databases', 'Those of them without any proven backup.', row.unproven_databases),
    gauge(
      'davit_backup_oldest_proof_age_seconds',
      'Age of the newest proven backup of the database where that is oldest.',
      row.oldest_proof_seconds,
    ),
    gauge(
      'davit_backup_last_proof_age_seconds',
      'Age of the newest proven backup of any of these databases.',
      row.last_proof_seconds,
    ),
  ];
}

function certificateFamilies(row: InstallationRow): Family[] {
  return [
    gauge('davit_certificates', 'Certificates of domains and addresses; missing: there is none yet.', [
      [{ state: 'valid' }, row.valid_certificates],
      [{ state: 'expired' }, row.expired_certificates],
      [{ state: 'missing' }, row.missing_certificates],
    ]),
    gauge(
      'davit_certificates_failing',
      'Certificates that the authority did not issue or renew at the last attempt.',
      row.failing_certificates,
    ),
    gauge(
      'davit_certificate_soonest_expiry_seconds',
      'Time until the first certificate expires; negative: it has expired.',
      row.soonest_expiry_seconds,
    ),
    gauge(
      'davit_certificate_own_expiry_seconds',
      'Time until the certificate of the public URL or of the addresses of services expires; absent: there is none.',
      row.own_certificates.flatMap(({ host, seconds }) => (seconds === null ? [] : [[{ host }, seconds]])),
    ),
    gauge(
      'davit_certificate_own_failing',
      '1: there is no such certificate yet or it is not renewed, and the log says why; 0: all is well.',
      row.own_certificates.map(({ host, is_failing }) => [{ host }, Number(is_failing)]),
    ),
  ];
}

function backlogFamilies(row: InstallationRow): Family[] {
  return [
    gauge('davit_webhook_deliveries_pending', 'Events that are still to be delivered to webhooks.', row.webhook_pending),
    gauge('davit_webhook_oldest_pending_seconds', 'Age of the oldest of them; 0: there is none.', row.webhook_seconds),
    gauge('davit_git_events_pending', 'Events of git hosts that are still to be processed.', row.git_pending),
    gauge('davit_git_event_oldest_pending_seconds', 'Age of the oldest of them; 0: there is none.', row.git_seconds),
    gauge('davit_git_repositories_failing', 'Repositories whose last poll failed.', row.failing_repositories),
  ];
}
