export { mountCluster } from './routes.ts';
export { describeCluster } from './description.ts';
export { checkDeployed } from './deployment.ts';
