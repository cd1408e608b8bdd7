export { mountDeployment } from './routes.ts';
