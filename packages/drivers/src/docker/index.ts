export { createDockerDriver, type DockerDriverInput } from './driver.ts';
export { openDockerEngine, type DockerEngine, type DockerEngineInput } from './socket.ts';
