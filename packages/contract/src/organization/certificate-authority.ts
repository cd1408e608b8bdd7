import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, Named } from '../shape.ts';

/**
 * The authority that signs the certificates of an installation without a public authority. An addition to the public
 * description.
 */
export const getCertificateAuthority = operation({
  id: 'getCertificateAuthority',
  method: 'GET',
  path: '/certificateAuthority',
  tag: 'Certificate authority',
  summary: "Read the certificate of the installation's own authority, for clients that should trust it",
  scope: 'READ',
  target: 'instance',
  status: 200,
  response: Named(
    'CertificateAuthority',
    Type.Object({
      // The certificate in PEM format.
      certificate: Type.String(),
      name: Type.String(),
      sha256_fingerprint: Type.String(),
      valid_until: DateTime,
    }),
  ),
  errors: [404],
});
