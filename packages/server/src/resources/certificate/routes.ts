import { operations } from '@davit/contract';
import type { Deps } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { readCertificateAuthority } from './status.ts';

export function mountCertificate(mounting: Mounting, deps: Deps): void {
  mounting.on(operations.getCertificateAuthority, () => readCertificateAuthority(deps));
}
