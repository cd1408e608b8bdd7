import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Optionals } from '../shape.ts';

/* Operations that only a Kubernetes cluster supports. */

const tag = 'Cluster';

const KubernetesEvent = Named(
  'KubernetesEvent',
  Optionals({
    created_at: about('When it was recorded.', DateTime),
    kind: about('The kind of the object.', Type.String()),
    namespace: about('The namespace of the object.', Type.String()),
    name: about('The name of the object.', Type.String()),
    reason: about('Why it happened, in one word.', Type.String()),
    message: about('What happened, as a sentence.', Type.String()),
    type: about('`Normal` or `Warning`.', Type.String()),
    reporting_component: about('The program that reported it.', Type.String()),
    count: about('How often it happened.', Type.Integer()),
    first_occurrence: about('When it first happened.', DateTime),
    last_occurrence: about('When it last happened.', DateTime),
  }),
  'An event of a Kubernetes cluster.',
);

const filter = Type.String({ maxLength: 255 });

export const getClusterKubernetesEvents = operation({
  id: 'getClusterKubernetesEvents',
  method: 'GET',
  path: '/cluster/{clusterId}/events',
  tag,
  summary: 'Read the events of a Kubernetes cluster',
  description: `
    Always refused: Davit reads no events of clusters yet. What happens to services is in their logs and in the streams of
    events.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | Davit reads none. | Use kubectl, or \`streamOrganization\`. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is only recorded. | Self-managed: store its kubeconfig. |
  `,
  scope: 'READ',
  target: 'cluster',
  query: Type.Object({
    from_date_time: about('Events from then on.', DateTime),
    to_date_time: about('Events until then.', DateTime),
    node_name: Type.Optional(about('Only events of this node.', filter)),
    pod_name: Type.Optional(about('Only events of this pod.', filter)),
    reporting_component: Type.Optional(about('Only events that this program reported.', filter)),
  }),
  status: 200,
  response: List(KubernetesEvent),
  errors: [400, 409],
});

/** An `ExecCredential`, the format in which kubectl accepts credentials from a plug-in. */
const ClusterToken = Named(
  'ClusterToken',
  Type.Object({
    apiVersion: about('The version of the form.', Type.String()),
    kind: about('Always `ExecCredential`.', Type.String()),
    spec: about('Always an empty object.', Type.Object({})),
    status: Named(
      'ClusterTokenStatus',
      Type.Object({
        token: about('The token for the cluster.', Type.String()),
        expirationTimestamp: about('When it expires.', DateTime),
      }),
      'A token and its expiry.',
    ),
  }),
  'A token in the form that kubectl reads from plug-ins.',
);

export const getClusterTokenByClusterId = operation({
  id: 'getClusterTokenByClusterId',
  method: 'GET',
  path: '/cluster/{clusterId}/token',
  tag,
  summary: 'Read a token for a managed cluster',
  description: `
    Always refused: only clusters that Davit installs would have such a token, and it installs none yet.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | The cluster is \`Local\` or yours. | Use its kubeconfig. |
    | \`CLUSTER_NOT_DEPLOYED\` (409) | The cluster is MANAGED. | Use a SELF_MANAGED cluster. |
  `,
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
  summary: 'Read the values for an installation',
  description: `
    Always refused: Davit installs no chart of its own on clusters, so there are no values for one.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`CLUSTER_KIND_UNSUPPORTED\` (409) | Any cluster. | Store its kubeconfig. |
  `,
  scope: 'ADMIN',
  target: 'organization',
  showsCredentials: true,
  status: 200,
  response: Type.String(),
  mediaType: 'application/x-yaml',
  errors: [409],
});
