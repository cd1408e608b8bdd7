import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RouteTable } from '../gateway.ts';
import { isUsableCertificate } from '../shared/host-certificate.ts';
import { checkedTable } from '../shared/route-table.ts';
import { certificateFile } from './certificates.ts';

interface Stored {
  readonly table?: RouteTable;
}

export const emptyTable: RouteTable = { http: [], tcp: [] };

/** Text of the table as it is kept beside the configuration. Of certificates it says in which file they are. */
export function toStored(table: RouteTable): string {
  const certificates = (table.certificates ?? []).map((one) => ({ ...one, pem: certificateFile(one) }));
  return `${JSON.stringify({ version: 1, table: { ...table, certificates } }, null, 1)}\n`;
}

/** The files that a stored table names. */
export function storedFiles(text: string): string[] {
  return parsed(text)?.table?.certificates?.map(({ pem }) => pem) ?? [];
}

function parsed(text: string): Stored | null {
  try {
    return text === '' ? null : (JSON.parse(text) as Stored); // oxlint-disable-line typescript/no-unsafe-type-assertion -- looked at by checkedTable
  } catch {
    // Written half by a full disk.
    return null;
  }
}

/**
 * The table that was applied last, with the certificates that are in `pems` by name of their file. Where no gateway `isServing` it by now,
 * its routes have no backends: what ended the gateway may have ended the containers too, others may have their addresses by then, and a
 * route must never lead to another service. An unreadable table is an empty one; Davit applies the right one anyway.
 */
export function storedTable(
  text: string,
  { gatewayPort, pems, isServing }: { gatewayPort: number; pems: Readonly<Record<string, string>>; isServing: boolean },
): RouteTable {
  const stored = parsed(text);
  if (stored?.table === undefined) return emptyTable;
  try {
    const certificates = (stored.table.certificates ?? []).flatMap((one) => {
      const pem = pems[one.pem] ?? '';
      return isUsableCertificate(pem) ? [{ ...one, pem }] : [];
    });
    const table = checkedTable({ ...stored.table, certificates }, gatewayPort);
    if (isServing) return table;
    return {
      ...table,
      http: table.http.map((route) => ({ ...route, backends: [] })),
      tcp: table.tcp.map((route) => ({ ...route, backends: [] })),
    };
  } catch {
    // Written by another version of Davit.
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
