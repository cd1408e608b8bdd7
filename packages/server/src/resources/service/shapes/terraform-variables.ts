import { hasControlCharacter } from '@davit/base';
import type { Body, operations, Response } from '@davit/contract';
import { leavesRoot, type Problems } from '../../shared/problems.ts';
import { refuseDuplicates } from './identity.ts';

type Request = NonNullable<Body<(typeof operations)['createTerraform']>['terraform_variables_source']>;
type VariablesRecord = Response<(typeof operations)['getTerraform']>['terraform_variables_source'];

/** A variable as stored. `secret_id`: id of a secret's stored value; the `value` of such a variable is empty. */
export interface TerraformVariableSpec {
  readonly key: string;
  readonly value: string;
  readonly secret_id: string | null;
}

export interface TerraformVariablesSpec {
  readonly tf_var_file_paths: readonly string[];
  readonly tf_vars: readonly TerraformVariableSpec[];
}

interface VariableRules {
  readonly problems: Problems;
  /** Stores a text encrypted together with the service, and returns the id by which a variable references it. */
  readonly newSecret: (text: string) => string;
}

const at = 'terraform_variables_source';

/** Returns the variables of a request. An omitted list stays. A secret without a value keeps its former value. */
export function toTerraformVariables(
  request: Request,
  former: TerraformVariablesSpec,
  rules: VariableRules,
): TerraformVariablesSpec {
  const { problems } = rules;
  const paths = request.tf_var_file_paths === undefined ? former.tf_var_file_paths : (request.tf_var_file_paths ?? []);
  paths.forEach((path, index) => {
    if (path.startsWith('-') || leavesRoot(path) || hasControlCharacter(path)) {
      problems.add(`${at}.tf_var_file_paths.${index}`, 'must be a file inside the root_path of the repository, without ..');
    }
  });
  if (request.tf_vars === undefined) return { tf_var_file_paths: paths, tf_vars: former.tf_vars };
  const kept = new Map(former.tf_vars.map(({ key, secret_id }) => [key, secret_id]));
  const variables = (request.tf_vars ?? []).map(({ key, value, secret }, index): TerraformVariableSpec => {
    const name = key ?? '';
    const path = `${at}.tf_vars.${index}`;
    if (!/^[A-Za-z_][\w-]*$/.test(name)) {
      problems.add(`${path}.key`, 'must be the name of a variable: letters, digits, _ and -, not first a digit');
    }
    if (secret !== true) return { key: name, value: value ?? '', secret_id: null };
    if (typeof value === 'string' && value !== '') return { key: name, value: '', secret_id: rules.newSecret(value) };
    const before = kept.get(name) ?? null;
    if (before === null) problems.add(`${path}.value`, 'is required for a secret that has none yet');
    return { key: name, value: '', secret_id: before };
  });
  refuseDuplicates(
    variables.map(({ key }) => key),
    (index, first) => problems.add(`${at}.tf_vars.${index}.key`, `is the name of tf_vars.${first} already`),
  );
  return { tf_var_file_paths: paths, tf_vars: variables };
}

export function toVariablesRecord({ tf_var_file_paths, tf_vars }: TerraformVariablesSpec): VariablesRecord {
  return {
    tf_var_file_paths: [...tf_var_file_paths],
    tf_vars: tf_vars.map(({ key, value, secret_id }) =>
      secret_id === null ? { key, value, secret: false } : { key, secret: true },
    ),
  };
}
