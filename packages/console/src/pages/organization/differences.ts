/** A field that differs between two records. null: it is not there. */
export interface Difference {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** Fields that change with every edit. */
const bookkeeping = new Set(['updated_at', 'created_at']);

/** Returns the fields that differ between two records that the audit log has as JSON. */
export function differences(before: string | null, after: string): Difference[] {
  const [one, other] = [leaves(before ?? ''), leaves(after)];
  const paths = [...new Set([...one.keys(), ...other.keys()])].filter((path) => !bookkeeping.has(path));
  return paths
    .map((path) => ({ path, before: one.get(path) ?? null, after: other.get(path) ?? null }))
    .filter((found) => found.before !== found.after);
}

/** Returns the values of a JSON text by their paths. A text that is no JSON has none. */
function leaves(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) visit(member, path === '' ? name : `${path}.${name}`);
    } else if (value !== null && value !== '') found.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  };
  try {
    visit(JSON.parse(text), '');
  } catch {
    // The record is gone, and the log has an empty text for it.
  }
  return found;
}
