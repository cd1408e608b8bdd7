import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/* Of runs on clusters. What they write is not held by the fence of a deployment, as it goes on while its runner changes. */

const open = `SELECT r.* FROM terraform_run r JOIN deployment d ON d.id = r.deployment_id AND d.status = 'RUNNING'
  WHERE r.id = $1 AND r.token_hash = $2`;

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
   SELECT service_id, organization_id, environment_id, $3 FROM (${open}) run
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()
   RETURNING service_id`,
);

/** Run, hash of its token, lock. No row: somebody else has it, or it may not. */
export const lockRunState = statement<{ service_id: string }>(
  'lockTerraformRunState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id)
   SELECT service_id, organization_id, environment_id, $3::jsonb, deployment_id FROM (${open}) run
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
