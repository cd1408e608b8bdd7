export { connectEngine, type EngineConnection } from './connection.ts';
export { call as callEngine, stream as streamEngine, type EngineRequest } from './engine-api.ts';
export { createDockerDriver, type DockerDriverInput } from './driver.ts';
export { hasInitProgram } from './own-init.ts';
export { createVolumeStore, type StoredVolume, type VolumeStore } from './volumes.ts';
export { createImageStore, type ImageStoreInput } from './stored-images.ts';
export { openDockerEngine, type DockerEngine, type DockerEngineInput, type Reach } from './socket.ts';
export { findProgram, ownPodmanPaths, startOwnPodman, type OwnPodmanOptions, type OwnPodmanPaths } from './own-podman.ts';
