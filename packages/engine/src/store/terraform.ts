import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/** Parameter: service. */
export const readState = statement<{ sealed: Buffer | null; lock: { readonly ID: string } | null }>(
  'readTerraformState',
  `SELECT sealed, lock FROM terraform_state WHERE service_id = $1`,
);

/** Parameters: deployment, fence, service, organization, environment, sealed state. */
export const writeState = statement(
  'writeTerraformState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, sealed) SELECT $3, $4, $5, $6 WHERE ${fenced}
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, stored_at = clock_timestamp()`,
);

/**
 * Parameters: deployment, fence, service, organization, environment, lock. Returns no row if another deployment holds
 * the lock or the fence no longer holds.
 */
export const lockState = statement<{ service_id: string }>(
  'lockTerraformState',
  `INSERT INTO terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id) SELECT $3, $4, $5, $6::jsonb, $1 WHERE ${fenced}
   ON CONFLICT (service_id) DO UPDATE SET lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id
     WHERE terraform_state.lock IS NULL OR terraform_state.lock_deployment_id = excluded.lock_deployment_id
   RETURNING service_id`,
);

/** Parameters: deployment, fence, service, id of the lock or null for any lock. */
export const unlockState = statement<{ service_id: string }>(
  'unlockTerraformState',
  `UPDATE terraform_state SET lock = NULL, lock_deployment_id = NULL
    WHERE service_id = $3 AND lock IS NOT NULL AND ($4::text IS NULL OR lock ->> 'ID' = $4) AND ${fenced} RETURNING service_id`,
);

/** Parameters: deployment, fence, service. */
export const removeState = statement('removeTerraformState', `DELETE FROM terraform_state WHERE service_id = $3 AND ${fenced}`);

/** Parameters: deployment, fence, service, organization, environment, sealed resources. */
export const writeResources = statement(
  'writeTerraformResources',
  `INSERT INTO terraform_resources (service_id, organization_id, environment_id, sealed) SELECT $3, $4, $5, $6 WHERE ${fenced}
   ON CONFLICT (service_id) DO UPDATE SET sealed = excluded.sealed, extracted_at = clock_timestamp()`,
);

/** Parameter: service. */
export const readResources = statement<{ sealed: Buffer; extracted_at: string }>(
  'readTerraformResources',
  `SELECT sealed, extracted_at FROM terraform_resources WHERE service_id = $1`,
);

/** Parameters: deployment, fence, service. */
export const removeResources = statement(
  'removeTerraformResources',
  `DELETE FROM terraform_resources WHERE service_id = $3 AND ${fenced}`,
);

/** Parameters: deployment, fence, release, commit. */
export const setReleaseCommit = statement(
  'setReleaseCommit',
  `UPDATE release SET commit = $4::jsonb WHERE id = $3 AND ${fenced}`,
);

/**
 * Records that resources of the service may exist, before they do. Parameters: deployment, fence, service,
 * organization, project, environment, driver, release. The row of a service that is already deployed is not changed.
 */
export const beginRuntime = statement(
  'beginTerraformRuntime',
  `INSERT INTO service_runtime (service_id, organization_id, project_id, environment_id, driver, desired, release_id)
   SELECT $3, $4, $5, $6, $7, 'NONE', $8 WHERE ${fenced}
   ON CONFLICT (service_id) DO UPDATE SET release_id = excluded.release_id WHERE service_runtime.desired = 'NONE'`,
);
