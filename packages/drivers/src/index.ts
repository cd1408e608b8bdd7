export * from './workload.ts';
export * from './driver.ts';
export { causes, DriverError, RoutePortTakenError, type Cause, type DriverErrorInput, type Evidence } from './errors.ts';
export { createGateway, type GatewayOptions, type LocalGateway } from './gateway/gateway.ts';
export * from './docker/index.ts';
export { createFakeCluster, type FakeCall, type FakeCluster, type FakeScript } from './fake/fake-cluster.ts';
export * from './docker/build/index.ts';
export * from './source/index.ts';
