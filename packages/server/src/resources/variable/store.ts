import { statement } from '@davit/db';
import type { EnvironmentMode, ServiceScope } from '@davit/contract';
import type { DatabaseFacts } from './builtin.ts';
import type { VariableRow } from './row.ts';

const columns = `v.id, v.project_id, v.environment_id, v.service_id, v.key, v.type, v.is_secret, v.value, v.secret_value_id,
  sv.reference_keys, v.target_id, v.target_builtin, v.mount_path, v.description, v.enable_interpolation_in_file, v.output_of, v.created_at,
  v.updated_at`;
const tables = `variable v LEFT JOIN secret_value sv ON sv.id = v.secret_value_id`;
/** Equal to the expression of the index variable_key. */
const parent = `coalesce(v.service_id, v.environment_id, v.project_id)`;

/** Parameters: ids of services, environments and projects. Oldest first. */
export const readVariables = statement<VariableRow>(
  'readVariables',
  `SELECT ${columns} FROM ${tables} WHERE ${parent} = ANY ($1::uuid[]) ORDER BY v.created_at, v.id`,
);

/** Parameter: environment. Returns its own variables, its project's, and those of all its services. */
export const readEnvironmentVariables = statement<VariableRow>(
  'readVariablesOfEnvironment',
  `SELECT ${columns} FROM ${tables} WHERE ${parent} = ANY (
     ARRAY(SELECT id FROM service WHERE environment_id = $1) || $1::uuid || ARRAY(SELECT project_id FROM environment WHERE id = $1))
   ORDER BY v.created_at, v.id`,
);

/** A variable with its service, environment and project. */
export interface FoundVariable {
  readonly id: string;
  readonly key: string;
  readonly is_secret: boolean;
  readonly project_id: string;
  readonly environment_id: string | null;
  readonly service_id: string | null;
  readonly service_type: ServiceScope;
}

/** Parameters: id, organization of the caller. */
export const findVariable = statement<FoundVariable>(
  'findVariable',
  `SELECT v.id, v.key, v.is_secret, coalesce(v.project_id, e.project_id, s.project_id) AS project_id,
          coalesce(v.environment_id, s.environment_id) AS environment_id, v.service_id, s.type AS service_type
     FROM variable v LEFT JOIN environment e ON e.id = v.environment_id LEFT JOIN service s ON s.id = v.service_id
    WHERE v.id = $1 AND ($2::uuid IS NULL OR v.organization_id = $2)`,
);

const projectFacts = `SELECT organization_id, created_at FROM project WHERE id = $1 AND ($2::uuid IS NULL OR organization_id = $2)`;

interface ProjectFactsRow {
  readonly organization_id: string;
  readonly created_at: string;
}

/** Parameters: id, organization of the caller. */
export const readProjectFacts = statement<ProjectFactsRow>('readProjectFactsForVariables', projectFacts);

/** Locks the project against deletion until the transaction ends. Parameters: id, organization of the caller. */
export const holdProjectFacts = statement<ProjectFactsRow>('holdProjectFactsForVariables', `${projectFacts} FOR KEY SHARE`);

export interface EnvironmentFactsRow {
  readonly id: string;
  readonly organization_id: string;
  readonly project_id: string;
  readonly project_created_at: string;
  readonly name: string;
  readonly mode: EnvironmentMode;
  readonly created_at: string;
  readonly cluster_id: string;
  readonly cloud_provider: string;
  readonly region: string;
  readonly databases: readonly DatabaseFacts[];
}

/** Parameters: id, organization of the caller. */
export const readEnvironmentFacts = statement<EnvironmentFactsRow>(
  'readEnvironmentFactsForVariables',
  `SELECT e.id, e.organization_id, e.project_id, p.created_at AS project_created_at, e.name, e.mode, e.created_at, e.cluster_id,
          c.cloud_provider, c.region, databases_of(e.id) AS databases
     FROM environment e JOIN project p ON p.id = e.project_id JOIN cluster c ON c.id = e.cluster_id
    WHERE e.id = $1 AND ($2::uuid IS NULL OR e.organization_id = $2)`,
);

/**
 * Serializes transactions that write files at the same project, environment or service, so that two files cannot have
 * the same path. Rows read after this statement include the files written by earlier transactions.
 */
export const lockFiles = statement(
  'lockVariableFiles',
  `SELECT pg_advisory_xact_lock(hashtextextended('variable files ' || $1::text, 0))`,
);

export interface WrittenRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const insert = `INSERT INTO variable (id, organization_id, project_id, environment_id, service_id, key, type, is_secret, value,
    secret_value_id, target_id, target_builtin, mount_path, description, enable_interpolation_in_file)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`;

/**
 * Parameters: id, organization, project, environment, service, key, type, is_secret, value, secret value, target,
 * built-in target, mount path, description, interpolation.
 */
export const insertVariable = statement<WrittenRow>('insertVariable', `${insert} RETURNING id, created_at, updated_at`);

/**
 * Inserts a variable, or replaces the variable with this key and kind. Returns no row if the key belongs to a variable
 * of another kind. Parameters as for `insertVariable`.
 */
export const replaceVariable = statement<WrittenRow>(
  'replaceVariable',
  `${insert}
   ON CONFLICT ((coalesce(service_id, environment_id, project_id)), key) DO UPDATE
      SET type = excluded.type, value = excluded.value, secret_value_id = excluded.secret_value_id, mount_path = excluded.mount_path,
          description = excluded.description, enable_interpolation_in_file = excluded.enable_interpolation_in_file,
          updated_at = clock_timestamp()
    WHERE variable.is_secret = excluded.is_secret AND variable.type IN ('VALUE', 'FILE')
   RETURNING id, created_at, updated_at`,
);

/** Parameters: organization, rows. Inserts all rows at once, so that an alias may precede its target. */
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

/**
 * Parameters: id, key, type, value, secret value, mount path, description, interpolation. Overrides keep the key of the
 * overridden variable.
 */
export const updateVariable = statement<WrittenRow>(
  'updateVariable',
  `WITH renamed AS (
     UPDATE variable SET key = $2, updated_at = clock_timestamp() WHERE target_id = $1 AND type = 'OVERRIDE' AND key <> $2
   )
   UPDATE variable SET key = $2, type = $3, value = $4, secret_value_id = $5, mount_path = $6, description = $7,
          enable_interpolation_in_file = $8, updated_at = clock_timestamp() WHERE id = $1 RETURNING id, created_at, updated_at`,
);

/** Aliases and overrides of the variable are deleted too. */
export const deleteVariable = statement('deleteVariable', `DELETE FROM variable WHERE id = $1`);

/**
 * Parameters: id, organization, project, environment, service (exactly one of these three), encrypted text, keys that
 * the text references. A derived secret may already exist.
 */
export const insertSecretValue = statement(
  'insertSecretValue',
  `INSERT INTO secret_value (id, organization_id, project_id, environment_id, service_id, sealed, reference_keys)
   VALUES ($1, $2, $3, $4, $5, $6, $7::text[]) ON CONFLICT (id) DO NOTHING`,
);

export const readSecretValues = statement<{ id: string; sealed: Buffer }>(
  'readSecretValues',
  `SELECT id, sealed FROM secret_value WHERE id = ANY ($1::uuid[])`,
);

/** Parameters: ids, service, its environment. Returns the ids that are secret values of the service or environment. */
export const secretValuesOf = statement<{ id: string }>(
  'secretValuesOf',
  `SELECT id FROM secret_value WHERE id = ANY ($1::uuid[]) AND (service_id = $2 OR environment_id = $3)`,
);

/**
 * Parameter: service. Locks the service until the transaction ends, so that only one transaction writes its outputs.
 */
export const holdOutputOwner = statement<{ type: string; organization_id: string; environment_id: string }>(
  'holdOwnerOfOutputs',
  `SELECT type, organization_id, environment_id FROM service WHERE id = $1 FOR NO KEY UPDATE`,
);

export interface OutputRow {
  readonly id: string;
  readonly key: string;
  readonly secret_value_id: string | null;
}

/** Parameter: service. Returns its outputs and their aliases. */
export const readOutputs = statement<OutputRow>(
  'readOutputs',
  `SELECT id, key, secret_value_id FROM variable WHERE output_of = $1`,
);

/**
 * Parameters: id, organization, environment, key, is_secret, value, secret value, description, service. Users cannot
 * have the key, as its prefix is reserved.
 */
export const writeOutput = statement<{ id: string }>(
  'writeOutput',
  `INSERT INTO variable (id, organization_id, environment_id, key, type, is_secret, value, secret_value_id, description, output_of)
   VALUES ($1, $2, $3, $4, 'VALUE', $5, $6, $7, $8, $9)
   ON CONFLICT ((coalesce(service_id, environment_id, project_id)), key) DO UPDATE
      SET is_secret = excluded.is_secret, value = excluded.value, secret_value_id = excluded.secret_value_id,
          description = excluded.description, output_of = excluded.output_of, updated_at = clock_timestamp()
   RETURNING id`,
);

/**
 * Parameters: id, organization, environment, key, is_secret, target, service. Does nothing if another variable has the
 * key.
 */
export const writeOutputAlias = statement(
  'writeOutputAlias',
  `INSERT INTO variable (id, organization_id, environment_id, key, type, is_secret, target_id, output_of)
   VALUES ($1, $2, $3, $4, 'ALIAS', $5, $6, $7)
   ON CONFLICT ((coalesce(service_id, environment_id, project_id)), key) DO UPDATE
      SET is_secret = excluded.is_secret, target_id = excluded.target_id
    WHERE variable.output_of = excluded.output_of`,
);

/** Parameter: ids. Aliases and overrides of the variables are deleted too. */
export const deleteVariables = statement('deleteVariables', `DELETE FROM variable WHERE id = ANY ($1::uuid[])`);
