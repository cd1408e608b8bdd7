import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/*
 * Statements for Terraform runs on clusters. Their writes are not checked against the fence of the deployment, because
 * a run continues while its runner changes.
 */

/*
 * A row exists for as long as the pod of its run may exist, even after the deployment has ended. Resources that an
 * apply creates while the cluster is unreachable must still reach the state. Meanwhile the lock keeps other runs from
 * changing the state.
 */
const open = 'select r.* from terraform_run r where r.id = $1 and r.token_hash = $2';

// Once a later deployment has a run, a run of an earlier deployment may not change the state, unless the earlier
// deployment holds the lock.
const mayChange = `(exists (select from terraform_state s where s.service_id = r.service_id and s.lock_deployment_id = r.deployment_id)
    or not exists (select from terraform_run n
       where n.service_id = r.service_id and n.deployment_id <> r.deployment_id and n.created_at > r.created_at))`;
const changing = `${open} AND ${mayChange}`;

/**
 * Parameters: deployment, fence, service, organization, environment, run, hash of its token. A new token of the same
 * run invalidates the previous token.
 */
export const admitRun = statement(
  'admit_terraform_run',
  `insert into terraform_run (id, deployment_id, service_id, organization_id, environment_id, token_hash)
   select $6, $1, $3, $4, $5, $7 where ${fenced}
   on conflict (id) do update set token_hash = excluded.token_hash`,
);

/** Deletes all runs of the service, including those that a crash left. Parameters: deployment, fence, service. */
export const endRuns = statement('end_terraform_runs', `delete from terraform_run where service_id = $3 and ${fenced}`);

/** Parameters: run, hash of its token. */
export const openRun = statement<{ service_id: string }>('open_terraform_run', open);

/** Parameters: run, hash of its token, sealed state. Returns no row if the run may not change the state. */
export const writeRunState = statement<{ service_id: string }>(
  'write_terraform_run_state',
  `insert into terraform_state (service_id, organization_id, environment_id, sealed)
   select service_id, organization_id, environment_id, $3 from (${changing}) run
   on conflict (service_id) do update set sealed = excluded.sealed, stored_at = clock_timestamp()
   returning service_id`,
);

/**
 * Parameters: run, hash of its token, lock. Returns no row if another deployment holds the lock or the run may not
 * change the state.
 */
export const lockRunState = statement<{ service_id: string }>(
  'lock_terraform_run_state',
  `insert into terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id)
   select service_id, organization_id, environment_id, $3::jsonb, deployment_id from (${changing}) run
   on conflict (service_id) do update set lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id
     where terraform_state.lock is null or terraform_state.lock_deployment_id = excluded.lock_deployment_id
   returning service_id`,
);

/** Parameters: run, hash of its token, id of the lock. */
export const unlockRunState = statement<{ service_id: string }>(
  'unlock_terraform_run_state',
  `update terraform_state s set lock = null, lock_deployment_id = null from (${open}) run
    where s.service_id = run.service_id and s.lock ->> 'ID' = $3 returning s.service_id`,
);

/** Returns the runs on a cluster whose deployment has finished and that nobody has ended. Parameter: driver. */
export const leftRuns = statement<{ id: string; service_id: string; environment_id: string; long_over: boolean }>(
  'left_terraform_runs',
  `select r.id, r.service_id, r.environment_id, d.finished_at < clock_timestamp() - interval '2 minutes' as long_over
     from terraform_run r join deployment d on d.id = r.deployment_id and d.status <> 'RUNNING' and d.driver = $1
    where not exists (select from deployment b where b.environment_id = r.environment_id and b.status = 'RUNNING')
    order by r.created_at limit 100`,
);

/**
 * Stores the state that was found in the pod of a run. Parameters: run, sealed state. Returns no row if the run may not
 * change the state.
 */
export const writeLeftState = statement<{ service_id: string }>(
  'write_left_terraform_state',
  `insert into terraform_state (service_id, organization_id, environment_id, sealed)
   select r.service_id, r.organization_id, r.environment_id, $2 from terraform_run r where r.id = $1 and ${mayChange}
   on conflict (service_id) do update set sealed = excluded.sealed, stored_at = clock_timestamp()
   returning service_id`,
);

/** Deletes runs whose pods no longer exist. Parameter: runs. */
export const removeRuns = statement('remove_terraform_runs', 'delete from terraform_run where id = any ($1::uuid[])');
