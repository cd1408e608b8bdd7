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

/**
 * Returns the text of the table that is stored beside the configuration. It refers to certificates by their file names.
 */
export function toStored(table: RouteTable): string {
  const certificates = (table.certificates ?? []).map((one) => ({ ...one, pem: certificateFile(one) }));
  return `${JSON.stringify({ version: 1, table: { ...table, certificates } }, null, 1)}\n`;
}

/** Returns the names of the files that a stored table refers to. */
export function storedFiles(text: string): string[] {
  return parsed(text)?.table?.certificates?.map(({ pem }) => pem) ?? [];
}

function parsed(text: string): Stored | null {
  try {
    return text === '' ? null : (JSON.parse(text) as Stored); // oxlint-disable-line typescript/no-unsafe-type-assertion -- looked at by checkedTable
  } catch {
    // A full disk has cut the file short.
    return null;
  }
}

/**
 * Returns the table that was applied last, with the certificates in `pems`, by file name. Unless a gateway process is
 * running (`isServing`), the routes get no backends: the event that ended the gateway may have ended the containers
 * too, and other containers may have got their addresses. A route must never lead to another service. An unreadable
 * table counts as an empty one, as Davit applies the right one anyway.
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
    // The table was written by another version of Davit.
    return emptyTable;
  }
}

/** Returns an id of the current boot of this machine; 'unknown' if the system does not report one. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // The system is not Linux.
    return 'unknown';
  }
}

/** Returns HAProxy's own user if its package created one, otherwise nobody; null if neither exists. */
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
