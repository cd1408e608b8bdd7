import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Name, Nullable, Reference, Text, Uuid } from '../shape.ts';

export const Project = Type.Object({
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  name: Type.String(),
  description: Type.Optional(Type.String()),
  associated_environments_count: Type.Integer(),
  organization: Reference,
});

const tag = 'Project';

export const listProject = operation({
  id: 'listProject',
  method: 'GET',
  path: '/organization/{organizationId}/project',
  tag,
  summary: 'List the projects of an organization',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(Project),
  errors: [],
});

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: '/organization/{organizationId}/project',
  tag,
  summary: 'Create a project',
  scope: 'WRITE',
  target: 'organization',
  body: Type.Object({ name: Name, description: Type.Optional(Nullable(Text)) }),
  status: 200,
  response: Project,
  errors: [400, 409],
});

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/project/{projectId}',
  tag,
  summary: 'Read a project',
  scope: 'READ',
  target: 'project',
  status: 200,
  response: Project,
  errors: [],
});

export const editProject = operation({
  id: 'editProject',
  method: 'PUT',
  path: '/project/{projectId}',
  tag,
  summary: 'Edit a project',
  scope: 'WRITE',
  target: 'project',
  body: Type.Object({ name: Type.Optional(Name), description: Type.Optional(Nullable(Text)) }),
  status: 200,
  response: Project,
  errors: [400, 409],
});

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/project/{projectId}',
  tag,
  summary: 'Delete a project that has no environments',
  scope: 'WRITE',
  target: 'project',
  status: 204,
  response: null,
  errors: [409],
});
