import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/* Of runs on clusters. What they write is not held by the fence of a deployment, as it goes on while its runner changes. */

/*
 * A row stands for as long as the pod of its run may be there, also after the deployment: what an apply goes on making while the cluster is
 * away has to come to its state. The lock keeps other runs out of that meanwhile.
 */
const open = 'SELECT r.* FROM terraform_run r WHERE r.id = $1 AND r.token_hash = $2';

// Once a later deployment has a run, one before it changes nothing any more, unless it is the one that holds the lock.
const mayChange = `(EXISTS (SELECT FROM terraform_state s WHERE s.service_id = r.service_id AND s.lock_deployment_id = r.deployment_id)
    OR NOT EXISTS (SELECT FROM terraform_run n
       WHERE n.service_id = r.service_id AND n.deployment_id <> r.deployment_id AND n.created_at > r.created_at))`;
const changing = `${open} AND ${mayChange}`;

/** Deployment, fence, service, organization, environment, run, hash of its token. Another token of the same run is good no longer. */
export const admitRun = statement(
  'admitTerraformRun',
  `INSERT INTO terraform_run (id, deployment_id, service_id, organization_id, environment_id, token_hash)
   SELECT $6, $1, $3, $4, $5, $7 WHERE ${fenced}
   ON CONFLICT (id) DO UPDATE SET token_hash = excluded.token_hash`,
);

/** Deployment, fence, service: all runs of the service, also those that a crash left over. */
export const endRuns = statement('endTerraformRuns', `DELETE FROM terraform_run WHERE service_id = $3 AND ${fenced}`);

/** Run, hash of its token. */
export const openRun = statement<{ service_id: string }>('openTerraformRun', open);

/** Run, hash of its token, sealed. No row: it may not. */
export const writeRunState = statement<{ service_id: string }>(
  'writeTerraformRunState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, sealed)
   SELECT service_id, organization_id, environment_id, $3 FROM (${changing}) run
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()
   RETURNING service_id`,
);

/** Run, hash of its token, lock. No row: somebody else has it, or it may not. */
export const lockRunState = statement<{ service_id: string }>(
  'lockTerraformRunState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id)
   SELECT service_id, organization_id, environment_id, $3::jsonb, deployment_id FROM (${changing}) run
   ON CONFLICT (service_id) DO UPDATE SET lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id
     WHERE terraform_state.lock IS NULL OR terraform_state.lock_deployment_id = excluded.lock_deployment_id
   RETURNING service_id`,
);

/** Run, hash of its token, id of the lock. */
export const unlockRunState = statement<{ service_id: string }>(
  'unlockTerraformRunState',
  `UPDATE terraform_state s SET lock = NULL, lock_deployment_id = NULL FROM (${open}) run
    WHERE s.service_id = run.service_id AND s.lock ->> 'ID' = $3 RETURNING s.service_id`,
);

/** Driver: runs there whose deployment is over, and which nobody has ended. */
export const leftRuns = statement<{ id: string; service_id: string; environment_id: string; long_over: boolean }>(
  'leftTerraformRuns',
  `SELECT r.id, r.service_id, r.environment_id, d.finished_at < clock_timestamp() - interval '2 minutes' AS long_over
     FROM terraform_run r JOIN deployment d ON d.id = r.deployment_id AND d.status <> 'RUNNING' AND d.driver = $1
    WHERE NOT EXISTS (SELECT FROM deployment b WHERE b.environment_id = r.environment_id AND b.status = 'RUNNING')
    ORDER BY r.created_at LIMIT 100`,
);

/** Run, sealed: what was found of it where it ran. No row: it may not change the state. */
export const writeLeftState = statement<{ service_id: string }>(
  'writeLeftTerraformState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, sealed)
   SELECT r.service_id, r.organization_id, r.environment_id, $2 FROM terraform_run r WHERE r.id = $1 AND ${mayChange}
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()
   RETURNING service_id`,
);

/** Runs whose pods are gone. */
export const removeRuns = statement('removeTerraformRuns', 'DELETE FROM terraform_run WHERE id = ANY ($1::uuid[])');
