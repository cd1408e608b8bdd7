import type { operations, Response, ServiceType } from '@davit/contract';
import type { BuiltIn } from './builtin.ts';
import { level, type VariableRow } from './row.ts';

export type VariableRecord = Response<(typeof operations)['createApplicationEnvironmentVariable']>;
export type SecretRecord = Response<(typeof operations)['createApplicationSecret']>;

/** The service whose view of its variables is asked for. */
export interface VariablePlace {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly serviceId: string;
  readonly serviceName: string;
  readonly serviceType: Exclude<ServiceType, 'DATABASE'>;
  readonly builtIns: readonly BuiltIn[];
}

const owner = 'Davit';

type Scope = VariableRecord['scope'];

function scopeOf(row: VariableRow, place: VariablePlace): Scope {
  const scopes: readonly Scope[] = ['PROJECT', 'ENVIRONMENT', place.serviceType];
  return scopes[level(row)] ?? place.serviceType;
}

function ofService(place: VariablePlace): Pick<VariableRecord, 'service_id' | 'service_name' | 'service_type'> {
  return { service_id: place.serviceId, service_name: place.serviceName, service_type: place.serviceType };
}

export function builtInRecord(builtIn: BuiltIn, place: VariablePlace): VariableRecord {
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
    ...(builtIn.isOfService ? ofService(place) : {}),
    owned_by: owner,
  };
}

/** What an alias or override points at, as its record shows it; undefined: nothing that is there. */
function related(row: VariableRow, place: VariablePlace, rows: readonly VariableRow[]): VariableRecord['aliased_variable'] {
  if (row.target_builtin !== null) {
    const builtIn = place.builtIns.find(({ name }) => name === row.target_builtin);
    if (builtIn === undefined) return undefined;
    const { id, key, value } = builtIn;
    return { id, key, value, mount_path: null, scope: 'BUILT_IN', variable_type: 'BUILT_IN' };
  }
  const target = row.target_id === null ? undefined : rows.find(({ id }) => id === row.target_id);
  if (target === undefined) return undefined;
  const { id, key, value, mount_path, type } = target;
  return { id, key, value: value ?? '', mount_path, scope: scopeOf(target, place), variable_type: type };
}

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

function common(row: VariableRow, place: VariablePlace): Common {
  return {
    id: row.id,
    created_at: row.created_at,
    updated_at: row.updated_at,
    key: row.key,
    description: row.description,
    enable_interpolation_in_file: row.enable_interpolation_in_file,
    scope: scopeOf(row, place),
    variable_type: row.type,
    ...(row.service_id === null ? {} : ofService(place)),
    owned_by: owner,
  };
}

/** `rows`: all that the service sees, for targets. An alias shows the value and path of its target. */
export function variableRecord(row: VariableRow, place: VariablePlace, rows: readonly VariableRow[]): VariableRecord {
  const target = related(row, place, rows);
  return {
    ...common(row, place),
    value: row.type === 'ALIAS' ? (target?.value ?? '') : (row.value ?? ''),
    mount_path: row.mount_path ?? target?.mount_path ?? null,
    ...(row.type === 'ALIAS' && target !== undefined ? { aliased_variable: target } : {}),
    ...(row.type === 'OVERRIDE' && target !== undefined ? { overridden_variable: target } : {}),
  };
}

/** The record of a secret: nothing of it comes from its value. */
export function secretRecord(row: VariableRow, place: VariablePlace, rows: readonly VariableRow[]): SecretRecord {
  const target = related(row, place, rows);
  const shown =
    target === undefined
      ? undefined
      : {
          id: target.id,
          key: target.key,
          mount_path: target.mount_path,
          scope: target.scope,
          variable_type: target.variable_type,
        };
  return {
    ...common(row, place),
    mount_path: row.mount_path ?? target?.mount_path ?? null,
    ...(row.type === 'ALIAS' && shown !== undefined ? { aliased_secret: shown } : {}),
    ...(row.type === 'OVERRIDE' && shown !== undefined ? { overridden_secret: shown } : {}),
  };
}
