export { domainRemarks } from './remarks.ts';
export { mountCustomDomain } from './routes.ts';
