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
const open = 'SELECT r.* FROM terraform_run r WHERE r.id = $1 AND r.token_hash = $2';

// Once a later deployment has a run, a run of an earlier deployment may not change the state, unless the earlier
// deployment holds the lock.
const mayChange = `(EXISTS (SELECT FROM terraform_state s WHERE s.service_id = r.service_id AND s.lock_deployment_id = r.deployment_id)
    OR NOT EXISTS (SELECT FROM terraform_run n
       WHERE n.service_id = r.service_id AND n.deployment_id <> r.deployment_id AND n.created_at > r.created_at))`;
const changing = `${open} AND ${mayChange}`;

/**
 * Parameters: deployment, fence, service, organization, environment, run, hash of its token. A new token of the same
 * run invalidates the previous token.
 */
export const admitRun = statement(
  'admitTerraformRun',
  `INSERT INTO terraform_run (id, deployment_id, service_id, organization_id, environment_id, token_hash)
   SELECT $6, $1, $3, $4, $5, $7 WHERE ${fenced}
   ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash`,
);

/** Deletes all runs of the service, including those that a crash left. Parameters: deployment, fence, service. */
export const endRuns = statement('endTerraformRuns', `DELETE FROM terraform_run WHERE service_id = $3 AND ${fenced}`);

/** Parameters: run, hash of its token. */
export const openRun = statement<{ service_id: string }>('openTerraformRun', open);

/** Parameters: run, hash of its token, sealed state. Returns no row if the run may not change the state. */
export const writeRunState = statement<{ service_id: string }>(
  'writeTerraformRunState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, sealed)
   SELECT service_id, organization_id, environment_id, $3 FROM (${changing}) run
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()
   RETURNING service_id`,
);

/**
 * Parameters: run, hash of its token, lock. Returns no row if another deployment holds the lock or the run may not
 * change the state.
 */
export const lockRunState = statement<{ service_id: string }>(
  'lockTerraformRunState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id)
   SELECT service_id, organization_id, environment_id, $3::jsonb, deployment_id FROM (${changing}) run
   ON CONFLICT (service_id) DO UPDATE SET lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id
     WHERE terraform_state.lock IS NULL OR terraform_state.lock_deployment_id = excluded.lock_deployment_id
   RETURNING service_id`,
);

/** Parameters: run, hash of its token, id of the lock. */
export const unlockRunState = statement<{ service_id: string }>(
  'unlockTerraformRunState',
  `UPDATE terraform_state s SET lock = NULL, lock_deployment_id = NULL FROM (${open}) run
    WHERE s.service_id = run.service_id AND s.lock ->> 'ID' = $3 RETURNING s.service_id`,
);

/** Returns the runs on a cluster whose deployment has finished and that nobody has ended. Parameter: driver. */
export const leftRuns = statement<{ id: string; service_id: string; environment_id: string; long_over: boolean }>(
  'leftTerraformRuns',
  `SELECT r.id, r.service_id, r.environment_id, d.finished_at < clock_timestamp() - interval '2 minutes' AS long_over
     FROM terraform_run r JOIN deployment d ON d.id = r.deployment_id AND d.status <> 'RUNNING' AND d.driver = $1
    WHERE NOT EXISTS (SELECT FROM deployment b WHERE b.environment_id = r.environment_id AND b.status = 'RUNNING')
    ORDER BY r.created_at LIMIT 100`,
);

/**
 * Stores the state that was found in the pod of a run. Parameters: run, sealed state. Returns no row if the run may not
 * change the state.
 */
export const writeLeftState = statement<{ service_id: string }>(
  'writeLeftTerraformState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, sealed)
   SELECT r.service_id, r.organization_id, r.environment_id, $2 FROM terraform_run r WHERE r.id = $1 AND ${mayChange}
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()
   RETURNING service_id`,
);

/** Deletes runs whose pods no longer exist. Parameter: runs. */
export const removeRuns = statement('removeTerraformRuns', 'DELETE FROM terraform_run WHERE id = ANY ($1::uuid[])');
