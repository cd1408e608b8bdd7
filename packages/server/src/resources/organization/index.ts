export { mountOrganization } from './routes.ts';
export { readOrganization } from './organization.ts';
export { checkBilling, checkManagedCluster } from './billing.ts';
