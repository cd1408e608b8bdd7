export { mountCluster } from './routes.ts';
export { claimCluster, noteServiceAccounts, readClusterAccess } from './access.ts';
export { describeCluster } from './description.ts';
export { checkDeployed } from './deployment.ts';
