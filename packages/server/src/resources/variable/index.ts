export {
  builtIns,
  databaseBuiltIns,
  databaseHost,
  databaseUrl,
  type BuiltIn,
  type BuiltInFacts,
  type DatabaseFacts,
} from './builtin.ts';
export {
  cloneSecrets,
  cloneServiceVariables,
  cloneVariables,
  secretIdsAmong,
  type SecretCopy,
  type VariableClone,
} from './clone.ts';
export { effective, type DerivedSecret, type Effective } from './effective.ts';
export { storeDerivedSecrets, type SecretOwner } from './derived-secret.ts';
export type { ServiceOwnerReference, ServiceOwners, VariableOwner } from './owner.ts';
export { storeOutputs } from './output.ts';
export { mountVariable } from './routes.ts';
export { level, type VariableRow } from './row.ts';
export { cycle, visibleVariables } from './change.ts';
export { formerSecretPaths, insertSecretValue, readEnvironmentVariables, readSecretValues } from './store.ts';
