import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Uuid, Words } from '../shape.ts';

const fields = {
  mode: Words(['EXCLUDE', 'MATCH'] as const),
  type: Words(['PATH'] as const),
};
const Restriction = Type.Object({
  id: Uuid,
  created_at: DateTime,
  updated_at: Type.Optional(DateTime),
  ...fields,
  value: Type.String(),
});
const body = Type.Object({ ...fields, value: Type.String({ minLength: 1, maxLength: 500 }) });

const tag = 'Deployment restriction';
const ofApplication = '/application/{applicationId}/deploymentRestriction' as const;

export const getApplicationDeploymentRestrictions = operation({
  id: 'getApplicationDeploymentRestrictions',
  method: 'GET',
  path: ofApplication,
  tag,
  summary: 'List the deployment restrictions of an application: which changed paths deploy it by themselves',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(Restriction),
  errors: [],
});

export const createApplicationDeploymentRestriction = operation({
  id: 'createApplicationDeploymentRestriction',
  method: 'POST',
  path: ofApplication,
  tag,
  summary: 'Restrict which changed paths deploy an application by themselves',
  scope: 'WRITE',
  target: 'service',
  body,
  status: 201,
  response: Restriction,
  errors: [400, 409],
});

export const editApplicationDeploymentRestriction = operation({
  id: 'editApplicationDeploymentRestriction',
  method: 'PUT',
  path: `${ofApplication}/{deploymentRestrictionId}`,
  tag,
  summary: 'Edit a deployment restriction of an application',
  scope: 'WRITE',
  target: 'service',
  body,
  status: 200,
  response: Restriction,
  errors: [400, 409],
});

export const deleteApplicationDeploymentRestriction = operation({
  id: 'deleteApplicationDeploymentRestriction',
  method: 'DELETE',
  path: `${ofApplication}/{deploymentRestrictionId}`,
  tag,
  summary: 'Delete a deployment restriction of an application',
  scope: 'WRITE',
  target: 'service',
  status: 204,
  response: null,
  errors: [409],
});

const ofJob = '/job/{jobId}/deploymentRestriction' as const;

export const getJobDeploymentRestrictions = operation({
  id: 'getJobDeploymentRestrictions',
  method: 'GET',
  path: ofJob,
  tag,
  summary: 'List the deployment restrictions of a job: which changed paths deploy it by themselves',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(Restriction),
  errors: [],
});

export const createJobDeploymentRestriction = operation({
  id: 'createJobDeploymentRestriction',
  method: 'POST',
  path: ofJob,
  tag,
  summary: 'Restrict which changed paths deploy a job by themselves',
  scope: 'WRITE',
  target: 'service',
  body,
  status: 201,
  response: Restriction,
  errors: [400, 409],
});

export const editJobDeploymentRestriction = operation({
  id: 'editJobDeploymentRestriction',
  method: 'PUT',
  path: `${ofJob}/{deploymentRestrictionId}`,
  tag,
  summary: 'Edit a deployment restriction of a job',
  scope: 'WRITE',
  target: 'service',
  body,
  status: 200,
  response: Restriction,
  errors: [400, 409],
});

export const deleteJobDeploymentRestriction = operation({
  id: 'deleteJobDeploymentRestriction',
  method: 'DELETE',
  path: `${ofJob}/{deploymentRestrictionId}`,
  tag,
  summary: 'Delete a deployment restriction of a job',
  scope: 'WRITE',
  target: 'service',
  status: 204,
  response: null,
  errors: [409],
});
