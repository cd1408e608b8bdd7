/**
 * Returns since when lists that are read by pages are complete together: what one of them has before that, another one
 * may have too, but it is not read yet. Empty: all lists are complete.
 */
export function completeSince(lists: readonly { readonly hasOlder: boolean; readonly oldest: string | undefined }[]): string {
  const ends = lists.flatMap(({ hasOlder, oldest }) => (hasOlder && oldest !== undefined ? [oldest] : []));
  return ends.toSorted().at(-1) ?? '';
}
