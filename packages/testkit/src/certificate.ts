import { randomUUID, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const day = 86_400_000;

/**
 * Creates a self-signed certificate for one host. Returns the certificate that a client trusts, and the PEM with its
 * key in the form that the gateway expects.
 */
export async function testCertificate(host: string): Promise<{ readonly certificate: string; readonly pem: string }> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    // If there are several certificates for one host, a client finds the trusted one by this name.
    name: `CN=${randomUUID()}`,
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: host }])],
  });
  const certificate = `${made.toString('pem')}\n`;
  const key = x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
  return { certificate, pem: `${key}\n${certificate}` };
}
