import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RouteTable } from '../driver.ts';
import { checkedTable } from '../shared/route-table.ts';

interface Stored {
  readonly bootId: string;
  readonly table: RouteTable;
}

export const emptyTable: RouteTable = { http: [], tcp: [] };

/** Text of the table as it is kept beside the configuration. */
export function toStored(table: RouteTable): string {
  return `${JSON.stringify({ version: 1, bootId: bootId(), table }, null, 1)}\n`;
}

/**
 * The table that was applied last. After a restart of the machine its routes have no backends: containers may have other
 * addresses by then, and a route must never lead to another service. An unreadable table is an empty one; Davit applies
 * the right one anyway.
 */
export function storedTable(text: string, gatewayPort: number): RouteTable {
  if (text === '') return emptyTable;
  try {
    const stored = JSON.parse(text) as Stored; // oxlint-disable-line typescript/no-unsafe-type-assertion -- checkedTable looks at every value
    const table = checkedTable(stored.table, gatewayPort);
    if (stored.bootId === bootId()) return table;
    return {
      http: table.http.map((route) => ({ ...route, backends: [] })),
      tcp: table.tcp.map((route) => ({ ...route, backends: [] })),
    };
  } catch {
    // Written half by a full disk, or by another version of Davit.
    return emptyTable;
  }
}

/** Names this run of the machine; 'unknown' where the system does not tell. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Not Linux.
    return 'unknown';
  }
}

/** HAProxy's own user where its package made one, otherwise nobody; null when there is neither. */
export async function unprivilegedUser(): Promise<{ readonly name: string; readonly group: string } | null> {
  const [users, groups] = await Promise.all([readFile('/etc/passwd', 'utf8'), readFile('/etc/group', 'utf8')]);
  for (const name of ['haproxy', 'nobody']) {
    const groupId = new RegExp(`^${name}:[^:]*:[1-9]\\d*:(\\d+):`, 'm').exec(users)?.[1];
    if (groupId === undefined) continue;
    const group = new RegExp(`^([\\w-]+):[^:]*:${groupId}:`, 'm').exec(groups)?.[1];
    if (group !== undefined) return { name, group };
  }
  return null;
}
