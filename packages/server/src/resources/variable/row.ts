/** A stored variable or secret. Exactly one of the three parents is set. */
export interface VariableRow {
  readonly id: string;
  readonly project_id: string | null;
  readonly environment_id: string | null;
  readonly service_id: string | null;
  readonly key: string;
  readonly type: 'VALUE' | 'FILE' | 'ALIAS' | 'OVERRIDE';
  readonly is_secret: boolean;
  readonly value: string | null;
  readonly secret_value_id: string | null;
  /** Keys that a secret's text references as `{{KEY}}`; null for variables that are not secret. */
  readonly reference_keys: readonly string[] | null;
  readonly target_id: string | null;
  readonly target_builtin: string | null;
  readonly mount_path: string | null;
  readonly description: string | null;
  readonly enable_interpolation_in_file: boolean | null;
  /** Service whose run wrote the variable. */
  readonly output_of?: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Scope: 0 project, 1 environment, 2 service. The greater number is narrower and wins. */
export type Level = 0 | 1 | 2;

/** Returns the scope at which a variable is defined. */
export function level(row: Pick<VariableRow, 'service_id' | 'environment_id'>): Level {
  return row.service_id !== null ? 2 : row.environment_id !== null ? 1 : 0;
}

export const levelNouns = ['project', 'environment', 'service'] as const;

/** Returns the id of the variable that an override replaces; for other variables, their own id. */
export function rootId(row: VariableRow): string {
  return row.type === 'OVERRIDE' && row.target_id !== null ? row.target_id : row.id;
}
