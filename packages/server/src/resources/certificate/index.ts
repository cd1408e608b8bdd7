export { authorityOf, ensureAuthority } from './choice.ts';
export { gatewayDomains } from './gateway.ts';
export { CertificateIssuer } from './issuer.ts';
export { mountCertificate } from './routes.ts';
export { certificateStatus } from './status.ts';
export { ownNames } from './own-names.ts';
