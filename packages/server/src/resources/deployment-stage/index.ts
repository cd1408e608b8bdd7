export { mountDeploymentStage } from './routes.ts';
