export { builtIns, type BuiltIn, type BuiltInFacts } from './builtin.ts';
export { cloneSecrets, cloneVariables, secretIdsAmong, type SecretCopy, type VariableClone } from './clone.ts';
export { effective, type DerivedSecret, type Effective } from './effective.ts';
export { storeDerivedSecrets, type SecretOwner } from './derived-secret.ts';
export { secretRecord, variableRecord, type SecretRecord, type VariablePlace, type VariableRecord } from './record.ts';
export { level, type VariableRow } from './row.ts';
export { readEnvironmentVariables, readSecretValues } from './store.ts';
export {
  createAlias,
  createVariable,
  editVariable,
  listSecrets,
  listVariables,
  removeVariable,
  visibleVariables,
  type AliasRequest,
  type Scene,
  type Stored,
  type VariableEditRequest,
  type VariableRequest,
} from './variable.ts';
