export * from './workload.ts';
export * from './driver.ts';
export * from './schedules.ts';
export * from './source-driver.ts';
export * from './image-builder.ts';
export * from './gateway.ts';
export * from './stored-images.ts';
export * from './terraform-driver.ts';
export { causes, DriverError, RoutePortTakenError, type Cause, type DriverErrorInput, type Evidence } from './errors.ts';
export { createGateway, type GatewayOptions, type LocalGateway } from './gateway/gateway.ts';
export * from './docker/index.ts';
// `@davit/drivers/kubernetes` has what works with Kubernetes: it is loaded where there is such a cluster only.
export type { FakeCall, FakeScript } from './fake/calls.ts';
export { createFakeCluster, type FakeCluster, type FakeUse } from './fake/fake-cluster.ts';
export * from './docker/build/index.ts';
export * from './source/index.ts';
export * from './terraform/index.ts';
