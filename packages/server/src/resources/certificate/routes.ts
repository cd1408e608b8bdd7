import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import { readCertificateAuthority } from './status.ts';

export function mountCertificate(mounting: Mounting, deps: Needs<'database', 'acme' | 'gatewayHttpsPort'>): void {
  mounting.on(operations.getCertificateAuthority, () => readCertificateAuthority(deps));
}
