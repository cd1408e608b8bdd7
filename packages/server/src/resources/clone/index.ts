export { mountClone } from './routes.ts';
export { copyEnvironment, type EnvironmentCopy } from './clone.ts';
