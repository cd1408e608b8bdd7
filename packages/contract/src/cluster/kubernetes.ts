import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Optionals, Named } from '../shape.ts';

/* Operations that only a Kubernetes cluster supports. */

const tag = 'Cluster';

const KubernetesEvent = Named(
  'KubernetesEvent',
  Optionals({
    created_at: DateTime,
    kind: Type.String(),
    namespace: Type.String(),
    name: Type.String(),
    reason: Type.String(),
    message: Type.String(),
    type: Type.String(),
    reporting_component: Type.String(),
    count: Type.Integer(),
    first_occurrence: DateTime,
    last_occurrence: DateTime,
  }),
);

const filter = Type.String({ maxLength: 255 });

export const getClusterKubernetesEvents = operation({
  id: 'getClusterKubernetesEvents',
  method: 'GET',
  path: '/cluster/{clusterId}/events',
  tag,
  summary:
    'Read the events of a Kubernetes cluster; refused for clusters whose events Davit does not read, with the alternatives',
  scope: 'READ',
  target: 'cluster',
  query: Type.Object({
    from_date_time: DateTime,
    to_date_time: DateTime,
    node_name: Type.Optional(filter),
    pod_name: Type.Optional(filter),
    reporting_component: Type.Optional(filter),
  }),
  status: 200,
  response: List(KubernetesEvent),
  errors: [400, 409],
});

/** An `ExecCredential`, the format in which kubectl accepts credentials from a plug-in. */
const ClusterToken = Named(
  'ClusterToken',
  Type.Object({
    apiVersion: Type.String(),
    kind: Type.String(),
    spec: Type.Object({}),
    status: Named('ClusterTokenStatus', Type.Object({ token: Type.String(), expirationTimestamp: DateTime })),
  }),
);

export const getClusterTokenByClusterId = operation({
  id: 'getClusterTokenByClusterId',
  method: 'GET',
  path: '/cluster/{clusterId}/token',
  tag,
  summary: 'Read a token for a managed Kubernetes cluster; refused for others, with the place of their credentials',
  scope: 'ADMIN',
  target: 'cluster',
  showsCredentials: true,
  status: 200,
  response: ClusterToken,
  errors: [409],
});

export const getInstallationHelmValues = operation({
  id: 'getInstallationHelmValues',
  method: 'GET',
  path: '/organization/{organizationId}/cluster/{clusterId}/installationHelmValues',
  tag,
  summary: 'Read the values for the installation of a self-managed cluster; refused, because Davit installs nothing there',
  scope: 'ADMIN',
  target: 'organization',
  showsCredentials: true,
  status: 200,
  response: Type.String(),
  mediaType: 'application/x-yaml',
  errors: [409],
});
