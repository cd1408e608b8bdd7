import { useSyncExternalStore } from 'react';

/** Whether the page shows what is so now. `since`: when the connection was lost, in milliseconds. */
export type Connection = { readonly state: 'CONNECTING' | 'LIVE' } | { readonly state: 'LOST'; readonly since: number };

let connection: Connection = { state: 'CONNECTING' };
const readers = new Set<() => void>();

export function getConnection(): Connection {
  return connection;
}

/** Sets the connection; a connection that is lost already keeps the time since when it is. */
export function setConnection(next: Connection): void {
  if (next.state === connection.state) return;
  connection = next;
  for (const reader of readers) reader();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (reader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
    () => connection,
  );
}
