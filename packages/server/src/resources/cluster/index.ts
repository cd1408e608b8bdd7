export { mountCluster } from './routes.ts';
export { noteServiceAccounts, readClusterAccess } from './access.ts';
export { describeCluster } from './description.ts';
export { checkDeployed } from './deployment.ts';
