import type { Problems } from '../shared/problems.ts';

const form = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** The rule for keys (semantics 4.5): what every shell and language can read, and nothing that built-in variables may be called. */
export function checkKey(key: string, prefix: string, problems: Problems, path = 'key'): void {
  if (!form.test(key)) problems.add(path, 'must be letters, digits and underscores, and begin with a letter or an underscore');
  else if (key.startsWith('__')) problems.add(path, 'must not begin with two underscores');
  else if (key.startsWith(`${prefix}_`)) problems.add(path, `must not begin with ${prefix}_, which marks built-in variables`);
}
