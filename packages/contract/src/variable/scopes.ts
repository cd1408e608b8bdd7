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

/** The scopes that have paths of their own; those of kinds of service by their type, a line each. */
export const variableScopesOfPaths = {
  PROJECT: scopedOperations(project),
  ENVIRONMENT: scopedOperations(environment),
  APPLICATION: serviceOperations({ noun: 'application', Noun: 'Application', importId: 'importEnvironmentVariable' }),
  CONTAINER: serviceOperations({ noun: 'container', Noun: 'Container', importId: 'importContainerEnvironmentVariable' }),
  JOB: serviceOperations({ noun: 'job', Noun: 'Job', importId: 'importJobEnvironmentVariable' }),
} as const;

/** What is common to all of them, and to those of services. */
export type ScopedVariableOperations = ReturnType<typeof scopedOperations<ScopeWords>>;
export type ServiceVariableOperations = ReturnType<typeof serviceOperations<ServiceWords>>;

/** All of them by their ids. */
export const scopedVariableOperations = {
  ...operationsOf(variableScopesOfPaths.PROJECT),
  ...operationsOf(variableScopesOfPaths.ENVIRONMENT),
  ...operationsOf(variableScopesOfPaths.APPLICATION),
  ...operationsOf(variableScopesOfPaths.CONTAINER),
  ...operationsOf(variableScopesOfPaths.JOB),
};
