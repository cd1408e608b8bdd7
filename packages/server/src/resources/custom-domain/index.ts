export { certificateStatuses, type CertificateWord } from './certificates.ts';
export { proveDue, type ProofMemory } from './prove-due.ts';
export { domainRemarks } from './remarks.ts';
export { mountCustomDomain } from './routes.ts';
