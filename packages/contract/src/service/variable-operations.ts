import { operation } from '../operation.ts';
import { List } from '../shape.ts';
import { AliasRequest, EnvironmentVariable, Secret, VariableEditRequest, VariableRequest } from './variable.ts';

const tag = 'Application';
const at = '/application/{applicationId}' as const;
const target = 'service' as const;

export const listApplicationEnvironmentVariable = operation({
  id: 'listApplicationEnvironmentVariable',
  method: 'GET',
  path: `${at}/environmentVariable`,
  tag,
  summary: 'List the variables that an application sees: its own, inherited and built-in ones',
  scope: 'READ',
  target,
  status: 200,
  response: List(EnvironmentVariable),
  errors: [],
});

export const createApplicationEnvironmentVariable = operation({
  id: 'createApplicationEnvironmentVariable',
  method: 'POST',
  path: `${at}/environmentVariable`,
  tag,
  summary: 'Create a variable of an application; with `mount_path` it is a file',
  scope: 'WRITE',
  target,
  body: VariableRequest,
  status: 201,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const editApplicationEnvironmentVariable = operation({
  id: 'editApplicationEnvironmentVariable',
  method: 'PUT',
  path: `${at}/environmentVariable/{environmentVariableId}`,
  tag,
  summary: 'Edit a variable of an application',
  scope: 'WRITE',
  target,
  body: VariableEditRequest,
  status: 200,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const deleteApplicationEnvironmentVariable = operation({
  id: 'deleteApplicationEnvironmentVariable',
  method: 'DELETE',
  path: `${at}/environmentVariable/{environmentVariableId}`,
  tag,
  summary: 'Delete a variable of an application, and its aliases',
  scope: 'WRITE',
  target,
  status: 204,
  response: null,
  errors: [400],
});

export const createApplicationEnvironmentVariableAlias = operation({
  id: 'createApplicationEnvironmentVariableAlias',
  method: 'POST',
  path: `${at}/environmentVariable/{environmentVariableId}/alias`,
  tag,
  summary: 'Give a variable a second key',
  scope: 'WRITE',
  target,
  body: AliasRequest,
  status: 201,
  response: EnvironmentVariable,
  errors: [400, 409],
});

export const listApplicationSecrets = operation({
  id: 'listApplicationSecrets',
  method: 'GET',
  path: `${at}/secret`,
  tag,
  summary: 'List the secrets that an application sees, without their values',
  scope: 'READ',
  target,
  status: 200,
  response: List(Secret),
  errors: [],
});

export const createApplicationSecret = operation({
  id: 'createApplicationSecret',
  method: 'POST',
  path: `${at}/secret`,
  tag,
  summary: 'Create a secret of an application; its value is never shown again',
  scope: 'WRITE',
  target,
  body: VariableRequest,
  status: 201,
  response: Secret,
  errors: [400, 409],
});

export const editApplicationSecret = operation({
  id: 'editApplicationSecret',
  method: 'PUT',
  path: `${at}/secret/{secretId}`,
  tag,
  summary: 'Edit a secret of an application; without `value` its value stays',
  scope: 'WRITE',
  target,
  body: VariableEditRequest,
  status: 200,
  response: Secret,
  errors: [400, 409],
});

export const deleteApplicationSecret = operation({
  id: 'deleteApplicationSecret',
  method: 'DELETE',
  path: `${at}/secret/{secretId}`,
  tag,
  summary: 'Delete a secret of an application, and its aliases',
  scope: 'WRITE',
  target,
  status: 204,
  response: null,
  errors: [400],
});

export const createApplicationSecretAlias = operation({
  id: 'createApplicationSecretAlias',
  method: 'POST',
  path: `${at}/secret/{secretId}/alias`,
  tag,
  summary: 'Give a secret a second key',
  scope: 'WRITE',
  target,
  body: AliasRequest,
  status: 201,
  response: Secret,
  errors: [400, 409],
});
