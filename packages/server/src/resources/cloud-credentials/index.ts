export { mountCloudCredentials } from './routes.ts';
export { findCredentials } from './cloud-credentials.ts';
