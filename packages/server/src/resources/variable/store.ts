import { statement } from '@davit/db';
import type { EnvironmentMode, ServiceScope } from '@davit/contract';
import type { DatabaseFacts } from './builtin.ts';
import type { VariableRow } from './row.ts';

const columns = `v.id, v.project_id, v.environment_id, v.service_id, v.key, v.type, v.is_secret, v.value, v.secret_value_id,
  sv.reference_keys, v.target_id, v.target_builtin, v.mount_path, v.description, v.enable_interpolation_in_file, v.output_of, v.created_at,
  v.updated_at`;
const tables = `variable v left join secret_value sv on sv.id = v.secret_value_id`;
/** Equal to the expression of the index variable_key. */
const parent = `coalesce(v.service_id, v.environment_id, v.project_id)`;

/** Parameters: ids of services, environments and projects. Oldest first. */
export const readVariables = statement<VariableRow>(
  'read_variables',
  `select ${columns} from ${tables} where ${parent} = any ($1::uuid[]) order by v.created_at, v.id`,
);

/** Parameter: environment. Returns its own variables, its project's, and those of all its services. */
export const readEnvironmentVariables = statement<VariableRow>(
  'read_variables_of_environment',
  `select ${columns} from ${tables} where ${parent} = any (
     array(select id from service where environment_id = $1) || $1::uuid || array(select project_id from environment where id = $1))
   order by v.created_at, v.id`,
);

/**
 * Parameters: ids of services, environments and projects. Returns the paths of their secrets that were deleted or
 * renamed, as releases name them. A trigger stores them.
 */
export const formerSecretPaths = statement<{ path: string }>(
  'former_secret_paths',
  `select distinct path from former_secret where coalesce(service_id, environment_id, project_id) = any ($1::uuid[])`,
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
  'find_variable',
  `select v.id, v.key, v.is_secret, coalesce(v.project_id, e.project_id, s.project_id) as project_id,
          coalesce(v.environment_id, s.environment_id) as environment_id, v.service_id, s.type as service_type
     from variable v left join environment e on e.id = v.environment_id left join service s on s.id = v.service_id
    where v.id = $1 and ($2::uuid is null or v.organization_id = $2)`,
);

const projectFacts = `select organization_id, created_at from project where id = $1 and ($2::uuid is null or organization_id = $2)`;

interface ProjectFactsRow {
  readonly organization_id: string;
  readonly created_at: string;
}

/** Parameters: id, organization of the caller. */
export const readProjectFacts = statement<ProjectFactsRow>('read_project_facts_for_variables', projectFacts);

/** Locks the project against deletion until the transaction ends. Parameters: id, organization of the caller. */
export const holdProjectFacts = statement<ProjectFactsRow>('hold_project_facts_for_variables', `${projectFacts} for key share`);

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
  'read_environment_facts_for_variables',
  `select e.id, e.organization_id, e.project_id, p.created_at as project_created_at, e.name, e.mode, e.created_at, e.cluster_id,
          c.cloud_provider, c.region, databases_of(e.id) as databases
     from environment e join project p on p.id = e.project_id join cluster c on c.id = e.cluster_id
    where e.id = $1 and ($2::uuid is null or e.organization_id = $2)`,
);

/**
 * Serializes transactions that write files at the same project, environment or service, so that two files cannot have
 * the same path. Rows read after this statement include the files written by earlier transactions.
 */
export const lockFiles = statement(
  'lock_variable_files',
  `select pg_advisory_xact_lock(hashtextextended('variable files ' || $1::text, 0))`,
);

export interface WrittenRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const insert = `insert into variable (id, organization_id, project_id, environment_id, service_id, key, type, is_secret, value,
    secret_value_id, target_id, target_builtin, mount_path, description, enable_interpolation_in_file)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`;

/**
 * Parameters: id, organization, project, environment, service, key, type, is_secret, value, secret value, target,
 * built-in target, mount path, description, interpolation.
 */
export const insertVariable = statement<WrittenRow>('insert_variable', `${insert} returning id, created_at, updated_at`);

/**
 * Inserts a variable, or replaces the variable with this key and kind. Returns no row if the key belongs to a variable
 * of another kind. Parameters as for `insertVariable`.
 */
export const replaceVariable = statement<WrittenRow>(
  'replace_variable',
  `${insert}
   on conflict ((coalesce(service_id, environment_id, project_id)), key) do update
      set type = excluded.type, value = excluded.value, secret_value_id = excluded.secret_value_id, mount_path = excluded.mount_path,
          description = excluded.description, enable_interpolation_in_file = excluded.enable_interpolation_in_file,
          updated_at = clock_timestamp()
    where variable.is_secret = excluded.is_secret and variable.type in ('VALUE', 'FILE')
   returning id, created_at, updated_at`,
);

/** Parameters: organization, rows. Inserts all rows at once, so that an alias may precede its target. */
export const insertVariables = statement(
  'insert_variables',
  `insert into variable (id, organization_id, project_id, environment_id, service_id, key, type, is_secret, value, secret_value_id,
                         target_id, target_builtin, mount_path, description, enable_interpolation_in_file)
   select v.id, $1, v.project_id, v.environment_id, v.service_id, v.key, v.type, v.is_secret, v.value, v.secret_value_id,
          v.target_id, v.target_builtin, v.mount_path, v.description, v.enable_interpolation_in_file
     from jsonb_to_recordset($2::jsonb) as v(id uuid, project_id uuid, environment_id uuid, service_id uuid, key text, type text,
            is_secret boolean, value text, secret_value_id uuid, target_id uuid, target_builtin text, mount_path text, description text,
            enable_interpolation_in_file boolean)`,
);

/**
 * Parameters: id, key, type, value, secret value, mount path, description, interpolation. Overrides keep the key of the
 * overridden variable.
 */
export const updateVariable = statement<WrittenRow>(
  'update_variable',
  `with renamed as (
     update variable set key = $2, updated_at = clock_timestamp() where target_id = $1 and type = 'OVERRIDE' and key <> $2
   )
   update variable set key = $2, type = $3, value = $4, secret_value_id = $5, mount_path = $6, description = $7,
          enable_interpolation_in_file = $8, updated_at = clock_timestamp() where id = $1 returning id, created_at, updated_at`,
);

/** Aliases and overrides of the variable are deleted too. */
export const deleteVariable = statement('delete_variable', `delete from variable where id = $1`);

/**
 * Parameters: id, organization, project, environment, service (exactly one of these three), encrypted text, keys that
 * the text references. A derived secret may already exist.
 */
export const insertSecretValue = statement(
  'insert_secret_value',
  `insert into secret_value (id, organization_id, project_id, environment_id, service_id, sealed, reference_keys)
   values ($1, $2, $3, $4, $5, $6, $7::text[]) on conflict (id) do nothing`,
);

export const readSecretValues = statement<{ id: string; sealed: Buffer }>(
  'read_secret_values',
  `select id, sealed from secret_value where id = any ($1::uuid[])`,
);

/** Parameters: ids, service, its environment. Returns the ids that are secret values of the service or environment. */
export const secretValuesOf = statement<{ id: string }>(
  'secret_values_of',
  `select id from secret_value where id = any ($1::uuid[]) and (service_id = $2 or environment_id = $3)`,
);

/**
 * Parameter: service. Locks the service until the transaction ends, so that only one transaction writes its outputs.
 */
export const holdOutputOwner = statement<{ type: string; organization_id: string; environment_id: string }>(
  'hold_owner_of_outputs',
  `select type, organization_id, environment_id from service where id = $1 for no key update`,
);

export interface OutputRow {
  readonly id: string;
  readonly key: string;
  readonly secret_value_id: string | null;
}

/** Parameter: service. Returns its outputs and their aliases. */
export const readOutputs = statement<OutputRow>(
  'read_outputs',
  `select id, key, secret_value_id from variable where output_of = $1`,
);

/**
 * Parameters: id, organization, environment, key, is_secret, value, secret value, description, service. Users cannot
 * have the key, as its prefix is reserved.
 */
export const writeOutput = statement<{ id: string }>(
  'write_output',
  `insert into variable (id, organization_id, environment_id, key, type, is_secret, value, secret_value_id, description, output_of)
   values ($1, $2, $3, $4, 'VALUE', $5, $6, $7, $8, $9)
   on conflict ((coalesce(service_id, environment_id, project_id)), key) do update
      set is_secret = excluded.is_secret, value = excluded.value, secret_value_id = excluded.secret_value_id,
          description = excluded.description, output_of = excluded.output_of, updated_at = clock_timestamp()
   returning id`,
);

/**
 * Parameters: id, organization, environment, key, is_secret, target, service. Does nothing if another variable has the
 * key.
 */
export const writeOutputAlias = statement(
  'write_output_alias',
  `insert into variable (id, organization_id, environment_id, key, type, is_secret, target_id, output_of)
   values ($1, $2, $3, $4, 'ALIAS', $5, $6, $7)
   on conflict ((coalesce(service_id, environment_id, project_id)), key) do update
      set is_secret = excluded.is_secret, target_id = excluded.target_id
    where variable.output_of = excluded.output_of`,
);

/** Parameter: ids. Aliases and overrides of the variables are deleted too. */
export const deleteVariables = statement('delete_variables', `delete from variable where id = any ($1::uuid[])`);
