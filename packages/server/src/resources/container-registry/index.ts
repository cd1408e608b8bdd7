export { registryCredentials } from './images.ts';
export { mountContainerRegistry } from './routes.ts';
