export { listStages } from './deployment-stage.ts';
export { mountDeploymentStage } from './routes.ts';
