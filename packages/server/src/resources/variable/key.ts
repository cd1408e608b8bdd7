import type { Problems } from '../shared/problems.ts';

const form = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * Adds errors of a key to `problems` (semantics 4.5): every shell and language must be able to read the key, and the
 * prefix of built-in variables is reserved.
 */
export function checkKey(key: string, prefix: string, problems: Problems, path = 'key'): void {
  if (!form.test(key)) problems.add(path, 'must be letters, digits and underscores, and begin with a letter or an underscore');
  else if (key.startsWith('__')) problems.add(path, 'must not begin with two underscores');
  else if (key.startsWith(`${prefix}_`)) problems.add(path, `must not begin with ${prefix}_, which marks built-in variables`);
}
