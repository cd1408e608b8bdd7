export { registryUses, type RegistryIds } from './container-registry.ts';
export {
  imageDigest,
  imageName,
  imagePlatforms,
  isPlainRegistry,
  registryCredentials,
  registrySignIn,
  wholeImageName,
} from './images.ts';
export { rulesOf } from './kinds.ts';
export { mountContainerRegistry } from './routes.ts';
