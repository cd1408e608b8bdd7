import { isAppError } from '@davit/base';
import type { Database } from '@davit/db';
import type { GatewayDomains } from '@davit/engine/port';
import type { Vault } from '../../secrets/vault.ts';
import * as store from './store.ts';

/**
 * Returns null if the key of the certificate is missing. One such certificate must not keep everything else from the
 * gateway.
 */
function opened(vault: Vault, id: string, sealed: Uint8Array): string | null {
  try {
    return vault.open(id, sealed);
  } catch (error) {
    if (isAppError(error)) return null;
    throw error;
  }
}

/**
 * Returns what gateways need to know about domains in addition to the running services. The function runs at each
 * change of any domain, so it decrypts a certificate once and keeps the text until the certificate is replaced.
 */
export function gatewayDomains(database: Database, vault: Vault): () => Promise<GatewayDomains> {
  let known = new Map<string, { readonly sealed: string; readonly pem: string }>();
  return async () => {
    const rows = await database.many(store.listServed);
    const challenges = await database.many(store.listChallenges);
    const next = new Map<string, { readonly sealed: string; readonly pem: string }>();
    for (const { id, host, sealed } of rows) {
      const text = Buffer.from(sealed).toString('base64');
      const former = known.get(host);
      const pem = former?.sealed === text ? former.pem : opened(vault, id, sealed);
      if (pem !== null) next.set(host, { sealed: text, pem });
    }
    known = next;
    return {
      certificates: rows.flatMap(({ host, purpose, use_cdn }) => {
        const pem = next.get(host)?.pem;
        if (pem === undefined) return [];
        if (purpose === 'INSTALLATION') return [{ host, pem, redirect: true, isOwn: true as const }];
        // A proxy in front of the gateway terminates HTTPS itself and may send requests over HTTP only, so there is no
        // redirect.
        return [{ host, pem, redirect: purpose === 'ADDRESS' || use_cdn === false }];
      }),
      challenges,
    };
  };
}
