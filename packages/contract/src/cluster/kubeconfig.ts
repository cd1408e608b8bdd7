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
    Returns the kubeconfig as it was stored, credentials included, as YAML. 404: there is none, because it was not
    stored or Davit runs on the cluster itself.
  `,
  scope: 'ADMIN',
  target: 'organization',
  query: Optionals({ with_token_from_cli: about('Accepted because clients send it; no effect.', Type.Boolean()) }),
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
    Stores the kubeconfig of a SELF_MANAGED cluster, encrypted. It is used at once; running deployments go on with
    it. Then deploy the cluster to check it.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_LOCKED\` (409) | The cluster is locked. | Unlock it. |
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | The cluster takes no kubeconfig. | Follow the message. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  body: Kubeconfig,
  mediaType: 'application/x-yaml',
  status: 204,
  response: null,
  errors: [400, 409],
});
