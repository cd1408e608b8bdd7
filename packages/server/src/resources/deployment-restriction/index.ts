export { mountDeploymentRestriction } from './routes.ts';
export { cloneRestrictions } from './deployment-restriction.ts';
