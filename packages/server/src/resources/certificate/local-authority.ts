import { randomUUID, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { Database } from '@davit/db';
import type { Vault } from '../../secrets/vault.ts';
import type { Authority } from './authority.ts';
import * as store from './store.ts';

/*
 * The installation's own certificate authority, for machines that no public authority can reach. A client that trusts
 * the certificate of this authority trusts everything that this Davit signs. Its key is therefore sealed like every
 * secret and never leaves the process.
 */

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMilliseconds = 86_400_000;
const ownDays = 20 * 365;
const leafDays = 90;
// Clocks of clients may be slow.
const backdatedMilliseconds = 3_600_000;

/** Creates the authority of this installation. Several processes may call this at once; the first authority stays. */
export async function makeLocalAuthority(database: Database, vault: Vault, installation: string): Promise<void> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: `O=Davit, CN=Davit authority of ${installation.slice(0, 8)}`,
    notBefore: new Date(Date.now() - backdatedMilliseconds),
    notAfter: new Date(Date.now() + ownDays * dayMilliseconds),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const id = randomUUID();
  const sealed = vault.seal(id, await keyPem(keys.privateKey));
  await database.run(store.addAuthority, [id, '', sealed, made.toString('pem')]);
}

/** Returns the authority that `makeLocalAuthority` created. */
export function localAuthority(database: Database, vault: Vault): Authority {
  return {
    directory: '',
    isPublic: false,
    issue: async ({ host }) => {
      const row = await database.one(store.readAuthority, ['']);
      const own = new x509.X509Certificate(row.certificate ?? '');
      const der = x509.PemConverter.decodeFirst(vault.open(row.id, row.sealed));
      const signingKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
      const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const made = await x509.X509CertificateGenerator.create({
        subject: 'O=Davit',
        issuer: own.subject,
        notBefore: new Date(Date.now() - backdatedMilliseconds),
        notAfter: new Date(Math.min(Date.now() + leafDays * dayMilliseconds, own.notAfter.getTime())),
        publicKey: keys.publicKey,
        signingKey,
        signingAlgorithm: algorithm,
        extensions: [
          // The name is in this extension only, because it may be too long for the subject.
          new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }]),
          new x509.BasicConstraintsExtension(false, undefined, true),
          new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          await x509.AuthorityKeyIdentifierExtension.create(own),
          await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        ],
      });
      return `${await keyPem(keys.privateKey)}\n${made.toString('pem')}\n`;
    },
  };
}

async function keyPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}
