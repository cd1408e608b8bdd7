import { expect, test } from 'vitest';
import { operationsOf, serviceOperations } from './scoped.ts';
import { scopedVariableOperations } from './scopes.ts';

test('every scope has the same operations, named by it', () => {
  const ofScope = (Noun: string): string[] =>
    Object.keys(scopedVariableOperations)
      .filter((id) => new RegExp(`^(?!import)[a-z]+${Noun}(EnvironmentVariable|Secret)`).test(id))
      .map((id) => id.replace(Noun, ''));
  expect(ofScope('Project')).toHaveLength(12);
  expect(ofScope('Environment')).toEqual(ofScope('Project'));
  expect(ofScope('Application')).toEqual(ofScope('Project'));
  expect(ofScope('Container')).toEqual(ofScope('Project'));
  expect(ofScope('Job')).toEqual(ofScope('Project'));
  expect(Object.keys(scopedVariableOperations)).toHaveLength(63);
  for (const [id, operation] of Object.entries(scopedVariableOperations)) expect(operation.id).toBe(id);
});

test('a further kind of service is its words', () => {
  const job = serviceOperations({ noun: 'job', Noun: 'Job', importId: 'importJobEnvironmentVariable' });
  const lines = Object.values(operationsOf(job)).map(({ id, method, path }) => `${id} ${method} ${path}`);
  expect(lines).toEqual([
    'listJobEnvironmentVariable GET /job/{jobId}/environmentVariable',
    'createJobEnvironmentVariable POST /job/{jobId}/environmentVariable',
    'editJobEnvironmentVariable PUT /job/{jobId}/environmentVariable/{environmentVariableId}',
    'deleteJobEnvironmentVariable DELETE /job/{jobId}/environmentVariable/{environmentVariableId}',
    'createJobEnvironmentVariableAlias POST /job/{jobId}/environmentVariable/{environmentVariableId}/alias',
    'createJobEnvironmentVariableOverride POST /job/{jobId}/environmentVariable/{environmentVariableId}/override',
    'listJobSecrets GET /job/{jobId}/secret',
    'createJobSecret POST /job/{jobId}/secret',
    'editJobSecret PUT /job/{jobId}/secret/{secretId}',
    'deleteJobSecret DELETE /job/{jobId}/secret/{secretId}',
    'createJobSecretAlias POST /job/{jobId}/secret/{secretId}/alias',
    'createJobSecretOverride POST /job/{jobId}/secret/{secretId}/override',
    'importJobEnvironmentVariable POST /job/{jobId}/environmentVariable/import',
  ]);
});
