export { mountDeployment } from './routes.ts';
export { environmentStatus } from './status.ts';
