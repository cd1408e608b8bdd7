import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, Named } from '../shape.ts';

/**
 * The authority that signs the certificates of an installation without a public authority. An addition to the public
 * description.
 */
export const getCertificateAuthority = operation({
  id: 'getCertificateAuthority',
  method: 'GET',
  path: '/certificateAuthority',
  tag: 'Certificate authority',
  summary: "Read the installation's certificate",
  description: `
    Returns the certificate of the authority that signs for domains that no public authority can reach. Clients that should
    accept them must trust it. 404: the installation has no such authority.


  `,
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: Named(
    'CertificateAuthority',
    Type.Object({
      // The certificate in PEM format.
      certificate: about('The certificate, in PEM format.', Type.String()),
      name: about('The name of the authority.', Type.String()),
      sha256_fingerprint: about('The SHA-256 checksum of the certificate, to compare it.', Type.String()),
      valid_until: about('When the certificate expires.', DateTime),
    }),
    `The installation's own certificate authority.`,
  ),
  errors: [404],
});
