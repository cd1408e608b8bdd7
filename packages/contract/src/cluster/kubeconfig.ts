import Type from 'typebox';
import { operation } from '../operation.ts';
import { Optionals } from '../shape.ts';

const Kubeconfig = Type.String({ minLength: 1, maxLength: 500_000, pattern: '\\S' });

export const getClusterKubeconfig = operation({
  id: 'getClusterKubeconfig',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/kubeconfig',
  tag: 'Cluster',
  summary: 'Read the kubeconfig of a cluster as it was stored, credentials included',
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({ with_token_from_cli: Type.Boolean() }),
  showsCredentials: true,
  status: 200,
  response: Kubeconfig,
  mediaType: 'application/x-yaml',
  errors: [400, 409],
});

export const editClusterKubeconfig = operation({
  id: 'editClusterKubeconfig',
  method: 'PUT',
  path: '/organization/{organizationId}/cluster/{clusterId}/kubeconfig',
  tag: 'Cluster',
  summary: 'Store the kubeconfig of a cluster that its owner manages',
  scope: 'ADMIN',
  target: 'organization',
  body: Kubeconfig,
  mediaType: 'application/x-yaml',
  status: 204,
  response: null,
  errors: [400, 409],
});
