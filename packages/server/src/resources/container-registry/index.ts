export { registryUses, type Place as RegistryPlace } from './container-registry.ts';
export { imageDigest, imagePlatforms, registryCredentials, registrySignIn } from './images.ts';
export { rulesOf } from './kinds.ts';
export { mountContainerRegistry } from './routes.ts';
