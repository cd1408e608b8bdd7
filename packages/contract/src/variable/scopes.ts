import { byId, importOperation, scopedOperations, type ScopeWords } from './scoped.ts';

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

const application = {
  tag: 'Application',
  target: 'service',
  noun: 'an application',
  Noun: 'Application',
  segment: 'application',
  parameter: 'applicationId',
} as const satisfies ScopeWords;

/** The scopes that have paths of their own. A further kind of service is its words, and a line here and below. */
export const variableScopesOfPaths = {
  PROJECT: scopedOperations(project),
  ENVIRONMENT: scopedOperations(environment),
  APPLICATION: { ...scopedOperations(application), import: importOperation(application, 'importEnvironmentVariable') },
} as const;

/** What is common to all of them. */
export type ScopedVariableOperations = ReturnType<typeof scopedOperations<ScopeWords>> & {
  readonly import?: ReturnType<typeof importOperation<ScopeWords, string>>;
};

const { PROJECT, ENVIRONMENT, APPLICATION } = variableScopesOfPaths;

export const scopedVariableOperations = {
  ...byId(Object.values(PROJECT.variables)),
  ...byId(Object.values(PROJECT.secrets)),
  ...byId(Object.values(ENVIRONMENT.variables)),
  ...byId(Object.values(ENVIRONMENT.secrets)),
  ...byId(Object.values(APPLICATION.variables)),
  ...byId(Object.values(APPLICATION.secrets)),
  ...byId([APPLICATION.import]),
};
