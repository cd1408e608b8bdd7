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
  /** Keys that a secret's text names as `{{KEY}}`; null for what is no secret. */
  readonly reference_keys: readonly string[] | null;
  readonly target_id: string | null;
  readonly target_builtin: string | null;
  readonly mount_path: string | null;
  readonly description: string | null;
  readonly enable_interpolation_in_file: boolean | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Where a variable stands: a greater number is narrower and wins. */
export function level(row: VariableRow): number {
  return row.service_id !== null ? 2 : row.environment_id !== null ? 1 : 0;
}
