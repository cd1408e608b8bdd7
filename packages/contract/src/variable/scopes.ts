import { operationsOf, scopedOperations, serviceOperations, type ScopeWords, type ServiceWords } from './scoped.ts';

const project = {
  tag: 'Project',
  target: 'project',
  noun: 'a project',
  Noun: 'Project',
  segment: 'project',
  parameter: 'projectId',
} as const satisfies ScopeWords;

const environment = {
  tag: 'Environment',
  target: 'environment',
  noun: 'an environment',
  Noun: 'Environment',
  segment: 'environment',
  parameter: 'environmentId',
} as const satisfies ScopeWords;

/** Operations of the scopes that have their own paths. Kinds of services are keyed by their type, one line each. */
export const variableScopesOfPaths = {
  PROJECT: scopedOperations(project),
  ENVIRONMENT: scopedOperations(environment),
  APPLICATION: serviceOperations({ noun: 'application', Noun: 'Application', importId: 'importEnvironmentVariable' }),
  CONTAINER: serviceOperations({ noun: 'container', Noun: 'Container', importId: 'importContainerEnvironmentVariable' }),
  JOB: serviceOperations({ noun: 'job', Noun: 'Job', importId: 'importJobEnvironmentVariable' }),
} as const;

/** Operations that all scopes share, and those that all kinds of services share. */
export type ScopedVariableOperations = ReturnType<typeof scopedOperations<ScopeWords>>;
export type ServiceVariableOperations = ReturnType<typeof serviceOperations<ServiceWords>>;

/** The operations of all scopes, keyed by their ids. */
export const scopedVariableOperations = {
  ...operationsOf(variableScopesOfPaths.PROJECT),
  ...operationsOf(variableScopesOfPaths.ENVIRONMENT),
  ...operationsOf(variableScopesOfPaths.APPLICATION),
  ...operationsOf(variableScopesOfPaths.CONTAINER),
  ...operationsOf(variableScopesOfPaths.JOB),
};
