export { registryCredentials, registrySignIn } from './images.ts';
export { rulesOf } from './kinds.ts';
export { mountContainerRegistry } from './routes.ts';
