import { createHash } from 'node:crypto';
import type { HostCertificate } from '../gateway.ts';

export const certificateFolder = 'certificates';
/** HAProxy's list of certificates. The running process knows it under this name too. */
export const certificateList = 'certificates.list';

/**
 * Returns the file name of a certificate, which is also its name in the running HAProxy. The name contains a hash of
 * the content, so a renewed certificate has another name. The names that HAProxy lists therefore show exactly which
 * certificates it serves.
 */
export function certificateFile({ host, pem }: Pick<HostCertificate, 'host' | 'pem'>): string {
  return `${certificateFolder}/${hash(host)}-${hash(pem)}.pem`;
}

/**
 * Returns the list of certificates that HAProxy loads when it starts. An empty list is allowed, as HAProxy matches host
 * names strictly.
 */
export function listText(certificates: readonly HostCertificate[]): string {
  return ['# Written by Davit', ...certificates.map((one) => certificateFile(one)), ''].join('\n');
}

// HAProxy reads a command with its text into one buffer of 16 KiB.
const longestText = 14_000;

export interface CertificateCommands {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Returns whether all of the certificates fit into commands to the running process. */
export function fitsCommands(certificates: readonly HostCertificate[]): boolean {
  return certificates.every(({ pem }) => pem.length <= longestText);
}

/**
 * Returns the commands of the runtime API that make HAProxy serve these certificates; each must be sent separately. A
 * transaction that a crashed process started and did not commit is started again: an existing file is not an error.
 */
export function certificateCommands(wanted: readonly HostCertificate[], serving: ReadonlySet<string>): CertificateCommands {
  const files = new Map(wanted.map((one) => [certificateFile(one), one.pem.trimEnd()]));
  return {
    added: [...files].flatMap(([file, pem]) =>
      serving.has(file)
        ? []
        : [
            `new ssl cert ${file}`,
            `set ssl cert ${file} <<\n${pem}\n`,
            `commit ssl cert ${file}`,
            `add ssl crt-list ${certificateList} ${file}`,
          ],
    ),
    removed: [...serving].flatMap((file) =>
      files.has(file) ? [] : [`del ssl crt-list ${certificateList} ${file}`, `del ssl cert ${file}`],
    ),
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
