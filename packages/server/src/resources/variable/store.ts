import { statement } from '@davit/db';
import type { VariableRow } from './row.ts';

const columns = `v.id, v.project_id, v.environment_id, v.service_id, v.key, v.type, v.is_secret, v.value, v.secret_value_id,
  sv.reference_keys, v.target_id, v.target_builtin, v.mount_path, v.description, v.enable_interpolation_in_file, v.created_at, v.updated_at`;
const tables = `variable v LEFT JOIN secret_value sv ON sv.id = v.secret_value_id`;
/** As in the index variable_key. */
const parent = `coalesce(v.service_id, v.environment_id, v.project_id)`;

/** Ids of services, environments and projects. Oldest first. */
export const readVariables = statement<VariableRow>(
  'readVariables',
  `SELECT ${columns} FROM ${tables} WHERE ${parent} = ANY ($1::uuid[]) ORDER BY v.created_at, v.id`,
);

/** Environment: its own, its project's and those of all its services. */
export const readEnvironmentVariables = statement<VariableRow>(
  'readVariablesOfEnvironment',
  `SELECT ${columns} FROM ${tables} WHERE ${parent} = ANY (
     ARRAY(SELECT id FROM service WHERE environment_id = $1) || $1::uuid || ARRAY(SELECT project_id FROM environment WHERE id = $1))
   ORDER BY v.created_at, v.id`,
);

/** Id, organization, service, key, type, is_secret, value, secret value, target, built-in target, mount path, description, interpolation. */
export const insertVariable = statement<{ created_at: string; updated_at: string }>(
  'insertVariable',
  `INSERT INTO variable (id, organization_id, service_id, key, type, is_secret, value, secret_value_id, target_id, target_builtin,
                         mount_path, description, enable_interpolation_in_file)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING created_at, updated_at`,
);

/** Organization, rows. At once, so that an alias may come before what it points at. */
export const insertVariables = statement(
  'insertVariables',
  `INSERT INTO variable (id, organization_id, project_id, environment_id, service_id, key, type, is_secret, value, secret_value_id,
                         target_id, target_builtin, mount_path, description, enable_interpolation_in_file)
   SELECT v.id, $1, v.project_id, v.environment_id, v.service_id, v.key, v.type, v.is_secret, v.value, v.secret_value_id,
          v.target_id, v.target_builtin, v.mount_path, v.description, v.enable_interpolation_in_file
     FROM jsonb_to_recordset($2::jsonb) AS v(id uuid, project_id uuid, environment_id uuid, service_id uuid, key text, type text,
            is_secret boolean, value text, secret_value_id uuid, target_id uuid, target_builtin text, mount_path text, description text,
            enable_interpolation_in_file boolean)`,
);

/** Id, key, value, secret value, description, interpolation. */
export const updateVariable = statement<{ updated_at: string }>(
  'updateVariable',
  `UPDATE variable SET key = $2, value = $3, secret_value_id = $4, description = $5, enable_interpolation_in_file = $6,
          updated_at = clock_timestamp() WHERE id = $1 RETURNING updated_at`,
);

export const deleteVariable = statement('deleteVariable', `DELETE FROM variable WHERE id = $1`);

/** Id, organization, service, sealed, keys that its text names. A derived one may have been made before. */
export const insertSecretValue = statement(
  'insertSecretValue',
  `INSERT INTO secret_value (id, organization_id, service_id, sealed, reference_keys) VALUES ($1, $2, $3, $4, $5::text[])
   ON CONFLICT (id) DO NOTHING`,
);

export const readSecretValues = statement<{ id: string; sealed: Buffer }>(
  'readSecretValues',
  `SELECT id, sealed FROM secret_value WHERE id = ANY ($1::uuid[])`,
);
