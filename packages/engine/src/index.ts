export type * from './port.ts';
export { createEngine, type Engine, type EngineInput } from './engine.ts';
export type { DriverSet, EngineLog, EngineSettings } from './parts.ts';
export { hashOf } from './hash.ts';
export { stepMetrics } from './plan/plan.ts';
