export { builtIns, type BuiltIn, type BuiltInFacts } from './builtin.ts';
export { effective, type DerivedSecret, type Effective } from './effective.ts';
export type { VariableRow } from './row.ts';
