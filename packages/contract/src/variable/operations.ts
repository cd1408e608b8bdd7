import { operation } from '../operation.ts';
import { List } from '../shape.ts';
import * as shapes from './shapes.ts';

const tag = 'Variable';

export const listVariables = operation({
  id: 'listVariables',
  method: 'GET',
  path: '/variable',
  tag,
  summary: 'List variables and secrets',
  description: `
    Returns the variables and secrets that a project, environment or service sees: its own, inherited and built-in
    ones. Values of secrets are null.
  `,
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
  summary: 'Create a variable or secret',
  description: `
    Adds a variable or secret to a project, environment or service; \`is_secret\` cannot change later. Services see it
    from their next deployment on. At a project or environment, an existing key gets the new value.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`KEY_TAKEN\` (409) | The key is inherited, or exists there and is not replaced. | Edit it, or create an override. |
    | \`VARIABLE_CYCLE\` (400) | The value refers to itself through \`{{KEY}}\`. | Remove a reference of the cycle. |
  `,
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
  summary: 'Import variables and secrets',
  description: `
    Writes up to 1,000 variables and secrets to a service, its environment or its project. Existing keys stay unless
    \`overwrite\` is true; aliases always stay, and a secret and a variable never replace each other. If one item is invalid, nothing is written. The answer lists what was written.
  `,
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
  summary: 'Edit a variable or secret',
  description: `
    Changes the key or the value; fields that you leave out stay. Services see it from their next deployment on, and
    are OUT_OF_DATE until then.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`KEY_TAKEN\` (409) | The new key exists there or is inherited. | Choose another key. |
    | \`VARIABLE_NOT_EDITABLE\` (400) | It is an output, the key of an override or the value of an alias. | Change what it comes from. |
    | \`VARIABLE_CYCLE\` (400) | The value refers to itself through \`{{KEY}}\`. | Remove a reference of the cycle. |
  `,
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
  summary: 'Delete a variable or secret',
  description: `
    Deletes it with its aliases and overrides. Running processes keep the value until their next deployment. Outputs of
    jobs cannot be deleted.
  `,
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
  summary: 'Create an alias of a variable or secret',
  description: `
    Adds a second key, at the scope of the variable or a narrower one. Its value follows the variable, overrides
    included; an alias of a secret is a secret. An alias of an alias is refused.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`KEY_TAKEN\` (409) | The key exists there or is inherited. | Choose another key. |
  `,
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
  summary: 'Create an override of a variable or secret',
  description: `
    Gives the variable another value at a narrower scope and below. The key stays that of the variable. Built-in
    variables and overrides cannot be overridden.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`KEY_TAKEN\` (409) | The key is defined there already. | Edit that one. |
  `,
  scope: 'WRITE',
  target: 'variable',
  body: shapes.VariableOverrideRequest,
  status: 201,
  response: shapes.Variable,
  errors: [400, 409],
});
