export * from './workload.ts';
export * from './driver.ts';
export { causes, DriverError, type Cause, type DriverErrorInput, type Evidence } from './errors.ts';
export { createGateway, RoutePortTakenError, type GatewayOptions, type LocalGateway } from './gateway/gateway.ts';
export * from './docker/index.ts';
