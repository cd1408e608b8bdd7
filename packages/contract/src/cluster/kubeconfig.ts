import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Optionals } from '../shape.ts';

const Kubeconfig = Type.String({ minLength: 1, maxLength: 500_000, pattern: '\\S' });

export const getClusterKubeconfig = operation({
  id: 'getClusterKubeconfig',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/kubeconfig',
  tag: 'Cluster',
  summary: 'Read the kubeconfig of a cluster',
  description: `
    Returns the kubeconfig as it was stored, credentials included, as YAML. 404: there is none, because it was not stored or
    Davit runs on the cluster itself.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | The cluster is \`Local\`. | Nothing to do. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is MANAGED. | Use a SELF_MANAGED cluster. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({ with_token_from_cli: about('Only false is accepted.', Type.Boolean()) }),
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
  summary: 'Store the kubeconfig of a cluster',
  description: `
    Stores the kubeconfig of a cluster of yours, encrypted, in the place of the former one. It is not tried: deploy the
    cluster to check it. Davit uses it at once, also for running deployments.


    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | It is \`Local\`, MANAGED, or the one that Davit runs on. | Nothing to do. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Kubeconfig,
  mediaType: 'application/x-yaml',
  status: 204,
  response: null,
  errors: [400, 409],
});
