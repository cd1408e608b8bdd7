export * from './workload.ts';
export * from './driver.ts';
export { causes, DriverError, type Cause, type DriverErrorInput, type Evidence } from './errors.ts';
export { createGateway, RoutePortTakenError, type GatewayOptions, type LocalGateway } from './gateway/gateway.ts';
export * from './docker/index.ts';
export { imageKey, type ImageContent } from './docker/build/image-key.ts';
export { parseDockerfile } from './docker/build/dockerfile.ts';
export * from './docker/build/index.ts';
export * from './source/index.ts';
