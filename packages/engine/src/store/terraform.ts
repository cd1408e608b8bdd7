import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/** Parameter: service. */
export const readState = statement<{ sealed: Buffer | null; lock: { readonly ID: string } | null }>(
  'read_terraform_state',
  `select sealed, lock from terraform_state where service_id = $1`,
);

/** Parameters: deployment, fence, service, organization, environment, sealed state. */
export const writeState = statement(
  'write_terraform_state',
  `insert into terraform_state (service_id, organization_id, environment_id, sealed) select $3, $4, $5, $6 where ${fenced}
   on conflict (service_id) do update set sealed = excluded.sealed, stored_at = clock_timestamp()`,
);

/**
 * Parameters: deployment, fence, service, organization, environment, lock. Returns no row if another deployment holds
 * the lock or the fence no longer holds.
 */
export const lockState = statement<{ service_id: string }>(
  'lock_terraform_state',
  `insert into terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id) select $3, $4, $5, $6::jsonb, $1 where ${fenced}
   on conflict (service_id) do update set lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id
     where terraform_state.lock is null or terraform_state.lock_deployment_id = excluded.lock_deployment_id
   returning service_id`,
);

/** Parameters: deployment, fence, service, id of the lock or null for any lock. */
export const unlockState = statement<{ service_id: string }>(
  'unlock_terraform_state',
  `update terraform_state set lock = null, lock_deployment_id = null
    where service_id = $3 and lock is not null and ($4::text is null or lock ->> 'ID' = $4) and ${fenced} returning service_id`,
);

/** Parameters: deployment, fence, service. */
export const removeState = statement('remove_terraform_state', `delete from terraform_state where service_id = $3 and ${fenced}`);

/** Parameters: deployment, fence, service, organization, environment, sealed resources. */
export const writeResources = statement(
  'write_terraform_resources',
  `insert into terraform_resources (service_id, organization_id, environment_id, sealed) select $3, $4, $5, $6 where ${fenced}
   on conflict (service_id) do update set sealed = excluded.sealed, extracted_at = clock_timestamp()`,
);

/** Parameter: service. */
export const readResources = statement<{ sealed: Buffer; extracted_at: string }>(
  'read_terraform_resources',
  `select sealed, extracted_at from terraform_resources where service_id = $1`,
);

/** Parameters: deployment, fence, service. */
export const removeResources = statement(
  'remove_terraform_resources',
  `delete from terraform_resources where service_id = $3 and ${fenced}`,
);

/** Parameters: deployment, fence, release, commit. */
export const setReleaseCommit = statement(
  'set_release_commit',
  `update release set commit = $4::jsonb where id = $3 and ${fenced}`,
);

/**
 * Records that resources of the service may exist, before they do. Parameters: deployment, fence, service,
 * organization, project, environment, driver, release. The row of a service that is already deployed is not changed.
 */
export const beginRuntime = statement(
  'begin_terraform_runtime',
  `insert into service_runtime (service_id, organization_id, project_id, environment_id, driver, desired, release_id)
   select $3, $4, $5, $6, $7, 'NONE', $8 where ${fenced}
   on conflict (service_id) do update set release_id = excluded.release_id where service_runtime.desired = 'NONE'`,
);
