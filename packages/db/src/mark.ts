/**
 * Returns SQL for a number that identifies the version of a row. Each change of a row writes a new version of it, at
 * another place or by another transaction. The sum over some rows is their mark: as long as it stays the same, no row
 * was changed, added or removed, whichever process would have done so. Vacuuming can change a mark without a change.
 */
export function markOf(table: string): string {
  return `hashtextextended(concat(${table}.ctid, ' ', ${table}.xmin), 0)`;
}
