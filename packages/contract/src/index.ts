export * from './operation.ts';
export * from './operations.ts';
export * from './errors.ts';
export * from './shared/words.ts';
export * from './shared/events.ts';
export { kinds, type Kind } from './service/kinds.ts';
export { openApi } from './openapi.ts';
export { ServiceStatus, EnvironmentStatus, DeploymentPlan, Failure } from './shared/deployment.ts';
export { Application, ApplicationRequest, Probe, ServicePort, Storage } from './service/application.ts';
