import type { operations, Response } from '@davit/contract';
import type { BuiltIn } from './builtin.ts';
import type { VariableOwner } from './owner.ts';
import { level, type VariableRow } from './row.ts';

export type VariableRecord = Response<(typeof operations)['createApplicationEnvironmentVariable']>;
export type SecretRecord = Response<(typeof operations)['createApplicationSecret']>;

export type AnyRecord = Response<(typeof operations)['createVariable']>;

const owner = 'Davit';

type Scope = VariableRecord['scope'];

function scopeOf(row: VariableRow, owner: VariableOwner): Scope {
  const scopes: readonly (Scope | undefined)[] = ['PROJECT', 'ENVIRONMENT', owner.service?.type];
  const scope = scopes[level(row)];
  if (scope === undefined) throw new Error(`variable ${row.id} of a service is seen from where there is none`);
  return scope;
}

type ServiceFields = Pick<VariableRecord, 'service_id' | 'service_name' | 'service_type'>;

function ofService(service: BuiltIn['owner']): ServiceFields {
  return service === null ? {} : { service_id: service.id, service_name: service.name, service_type: service.type };
}

export function builtInRecord(builtIn: BuiltIn): VariableRecord {
  return {
    id: builtIn.id,
    created_at: builtIn.createdAt,
    updated_at: builtIn.createdAt,
    key: builtIn.key,
    value: builtIn.value,
    mount_path: null,
    description: null,
    enable_interpolation_in_file: null,
    scope: 'BUILT_IN',
    variable_type: 'BUILT_IN',
    ...ofService(builtIn.owner),
    owned_by: owner,
  };
}

/** Returns the record of a secret built-in variable. */
export function builtInSecretRecord(builtIn: BuiltIn): SecretRecord {
  const { value: _value, ...record } = builtInRecord(builtIn);
  return record;
}

/** Returns the target of an alias or override, as shown in its record, or undefined if the target does not exist. */
function related(row: VariableRow, owner: VariableOwner, rows: readonly VariableRow[]): Related | undefined {
  if (row.target_builtin !== null) {
    const builtIn = owner.builtIns.find(({ name }) => name === row.target_builtin);
    return builtIn === undefined ? undefined : { ...plain, id: builtIn.id, key: builtIn.key, value: builtIn.value };
  }
  const target = row.target_id === null ? undefined : rows.find(({ id }) => id === row.target_id);
  if (target === undefined) return undefined;
  const behind = related(target, owner, rows);
  return {
    id: target.id,
    key: target.key,
    value: target.type === 'ALIAS' ? (behind?.value ?? '') : (target.value ?? ''),
    mount_path: target.mount_path ?? behind?.mount_path ?? '',
    ...wordsOf(target, owner),
    description: target.description,
    enable_interpolation_in_file: target.enable_interpolation_in_file,
  };
}

/** Returns the path of the file that an alias or override refers to, or null if the target is not a file. */
function pathOf(target: Related | undefined): string | null {
  return target === undefined || target.mount_path === '' ? null : target.mount_path;
}

type Related = NonNullable<VariableRecord['aliased_variable']> &
  Pick<VariableRow, 'description' | 'enable_interpolation_in_file'>;

const plain = {
  mount_path: '',
  scope: 'BUILT_IN',
  variable_type: 'BUILT_IN',
  description: null,
  enable_interpolation_in_file: null,
} as const;

type Common = Pick<
  VariableRecord,
  | 'id'
  | 'created_at'
  | 'updated_at'
  | 'key'
  | 'description'
  | 'enable_interpolation_in_file'
  | 'scope'
  | 'variable_type'
  | 'owned_by'
>;

/** Returns scope and type of a variable. Outputs of a service are built in; their aliases belong to the environment. */
function wordsOf(row: VariableRow, owner: VariableOwner): Pick<VariableRecord, 'scope' | 'variable_type'> {
  const isOutput = (row.output_of ?? null) !== null && row.type !== 'ALIAS';
  return isOutput ? { scope: 'BUILT_IN', variable_type: 'BUILT_IN' } : { scope: scopeOf(row, owner), variable_type: row.type };
}

function common(row: VariableRow, variableOwner: VariableOwner): Common {
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    key: row.key,
    description: row.description,
    enable_interpolation_in_file: row.enable_interpolation_in_file,
    ...wordsOf(row, variableOwner),
    ...(row.service_id === null ? {} : ofService(variableOwner.service)),
    owned_by: owner,
  };
}

/**
 * Returns the record of a variable. `rows`: all rows that the owner sees, to find targets. An alias shows the value and
 * path of its target.
 */
export function variableRecord(row: VariableRow, owner: VariableOwner, rows: readonly VariableRow[]): VariableRecord {
  const target = related(row, owner, rows);
  const shown = target === undefined ? undefined : withoutNotes(target);
  return {
    ...common(row, owner),
    value: row.type === 'ALIAS' ? (target?.value ?? '') : (row.value ?? ''),
    mount_path: row.mount_path ?? pathOf(target),
    ...(row.type === 'ALIAS' && shown !== undefined ? { aliased_variable: shown } : {}),
    ...(row.type === 'OVERRIDE' && shown !== undefined ? { overridden_variable: shown } : {}),
  };
}

function withoutNotes(related: Related): NonNullable<VariableRecord['aliased_variable']> {
  const { description: _description, enable_interpolation_in_file: _interpolation, ...shown } = related;
  return shown;
}

/** Returns the record of a secret. No member depends on the secret's value. */
export function secretRecord(row: VariableRow, owner: VariableOwner, rows: readonly VariableRow[]): SecretRecord {
  const target = related(row, owner, rows);
  const { value: _value, ...shown } = target ?? { value: null };
  return {
    ...common(row, owner),
    mount_path: row.mount_path ?? pathOf(target),
    ...(row.type === 'ALIAS' && 'id' in shown ? { aliased_secret: shown } : {}),
    ...(row.type === 'OVERRIDE' && 'id' in shown ? { overridden_secret: shown } : {}),
  };
}

/** Returns the record of a variable or secret for the operations on both. Clients require its notes not to be null. */
export function anyRecord(row: VariableRow, owner: VariableOwner, rows: readonly VariableRow[]): AnyRecord {
  const { overridden_variable, aliased_variable, ...record } = variableRecord(row, owner, rows);
  const hidden = row.is_secret ? { value: null } : {};
  return {
    ...withNotes(record),
    value: row.is_secret ? null : (record.value ?? ''),
    is_secret: row.is_secret,
    ...(overridden_variable === undefined ? {} : { overridden_variable: { ...overridden_variable, ...hidden } }),
    ...(aliased_variable === undefined ? {} : { aliased_variable: { ...aliased_variable, ...hidden } }),
  };
}

export function anyBuiltInRecord(builtIn: BuiltIn): AnyRecord {
  const isSecret = builtIn.secret !== null;
  return { ...withNotes(builtInRecord(builtIn)), value: isSecret ? null : builtIn.value, is_secret: isSecret };
}

function withNotes(record: VariableRecord) {
  return {
    ...record,
    description: record.description ?? '',
    enable_interpolation_in_file: record.enable_interpolation_in_file ?? false,
  };
}
