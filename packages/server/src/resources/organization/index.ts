export { mountOrganization } from './routes.ts';
export { auditLogDays, createOwnedOrganization, readOrganization, recordsOf } from './organization.ts';
export { checkBilling, checkManagedCluster } from './billing.ts';
export { listRestrictions, restrict } from './restriction.ts';
