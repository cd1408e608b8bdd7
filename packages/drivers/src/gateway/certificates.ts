import { createHash } from 'node:crypto';
import type { HostCertificate } from '../gateway.ts';

export const certificateFolder = 'certificates';
/** HAProxy's list of certificates: the running process has it under this name too. */
export const certificateList = 'certificates.list';

/**
 * A certificate's file, which is also its name in the running HAProxy. It tells the content: a renewed certificate is another one,
 * so that the names that HAProxy lists say all of what it serves.
 */
export function certificateFile({ host, pem }: Pick<HostCertificate, 'host' | 'pem'>): string {
  return `${certificateFolder}/${hash(host)}-${hash(pem)}.pem`;
}

/** Which certificates HAProxy loads when it starts. One without lines is allowed, as the names of requests decide strictly. */
export function listText(certificates: readonly HostCertificate[]): string {
  return ['# Written by Davit', ...certificates.map((one) => certificateFile(one)), ''].join('\n');
}

// HAProxy reads a command with its text into one buffer of 16 KiB.
const longestText = 14_000;

export interface CertificateCommands {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Whether all of them can be told to a running process. */
export function fitsCommands(certificates: readonly HostCertificate[]): boolean {
  return certificates.every(({ pem }) => pem.length <= longestText);
}

/**
 * Commands of the runtime API that make HAProxy serve these, each to be sent by itself. What was begun and not committed by
 * somebody who died is begun anew: that there is such a file already is no failure.
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
