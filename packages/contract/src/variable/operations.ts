import { operation } from '../operation.ts';
import { List } from '../shape.ts';
import * as shapes from './shapes.ts';

const tag = 'Variable';

export const listVariables = operation({
  id: 'listVariables',
  method: 'GET',
  path: '/variable',
  tag,
  summary: 'List the variables and secrets that a project, environment or service sees; values of secrets are null',
  scope: 'READ',
  target: 'instance',
  query: shapes.VariableQuery,
  status: 200,
  response: List(shapes.Variable),
  errors: [400],
});

export const createVariable = operation({
  id: 'createVariable',
  method: 'POST',
  path: '/variable',
  tag,
  summary: 'Create a variable or secret of a project, environment or service',
  scope: 'WRITE',
  target: 'instance',
  body: shapes.VariableRequest,
  status: 201,
  response: shapes.Variable,
  errors: [400, 409],
});

export const importEnvironmentVariables = operation({
  id: 'importEnvironmentVariables',
  method: 'POST',
  path: '/variable/import',
  tag,
  summary: 'Import many variables and secrets at once into a service, its environment or its project',
  scope: 'WRITE',
  target: 'instance',
  query: shapes.ImportQuery,
  body: shapes.ImportRequest,
  status: 201,
  response: shapes.Import,
  errors: [400, 409],
});

export const editVariable = operation({
  id: 'editVariable',
  method: 'PUT',
  path: '/variable/{variableId}',
  tag,
  summary: 'Edit a variable or secret; omitted fields stay',
  scope: 'WRITE',
  target: 'variable',
  body: shapes.VariableEditRequest,
  status: 200,
  response: shapes.Variable,
  errors: [400, 409],
});

export const deleteVariable = operation({
  id: 'deleteVariable',
  method: 'DELETE',
  path: '/variable/{variableId}',
  tag,
  summary: 'Delete a variable or secret, with its aliases and overrides',
  scope: 'WRITE',
  target: 'variable',
  status: 204,
  response: null,
  errors: [],
});

export const createVariableAlias = operation({
  id: 'createVariableAlias',
  method: 'POST',
  path: '/variable/{variableId}/alias',
  tag,
  summary: 'Create an alias, a second key, for a variable or secret, at its own scope or a narrower one',
  scope: 'WRITE',
  target: 'variable',
  body: shapes.VariableAliasRequest,
  status: 201,
  response: shapes.Variable,
  errors: [400, 409],
});

export const createVariableOverride = operation({
  id: 'createVariableOverride',
  method: 'POST',
  path: '/variable/{variableId}/override',
  tag,
  summary: 'Create an override, another value, for a variable or secret at a narrower scope',
  scope: 'WRITE',
  target: 'variable',
  body: shapes.VariableOverrideRequest,
  status: 201,
  response: shapes.Variable,
  errors: [400, 409],
});
