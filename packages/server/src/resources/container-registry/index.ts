export { mountContainerRegistry } from './routes.ts';
export { registrySignIn } from './images.ts';
export { rulesOf } from './kinds.ts';
