/**
 * A row of the search index of the reference page: what it is, its name, where it belongs, the address of its page, and
 * the words about it. The server writes the index and the page in the browser reads it.
 */
export type ReferenceRow = readonly [kind: ReferenceKind, name: string, location: string, address: string, words: string];
export type ReferenceKind = 'operation' | 'type' | 'field' | 'error' | 'group';
