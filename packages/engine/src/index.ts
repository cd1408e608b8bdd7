export type * from './port.ts';
export { createEngine, type Engine, type EngineInput } from './engine.ts';
export { noGateway, type ClusterDrivers, type ClusterMaker } from './shared/cluster-drivers.ts';
export type { DriverSet, EngineLog, EngineSettings } from './shared/parts.ts';
export { hashOf } from './hash.ts';
export type { ImageParts } from './housekeeping/built-images.ts';
export type { ImageUse, UsedImage } from './housekeeping/image-uses.ts';
export { collectAll, readDisk, type DiskReport } from './housekeeping/images.ts';
export { arrivalStatements } from './store/arrival.ts';
