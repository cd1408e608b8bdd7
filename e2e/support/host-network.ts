import { call, type Api } from '../../packages/drivers/src/kubernetes/client/api.ts';

const base = '/apis/admissionregistration.k8s.io/v1';
const signal = new AbortController().signal;

/**
 * Makes the pods of a namespace use the network of their node, so that they can reach servers on 127.0.0.1 of this
 * machine as the node does. This is a policy of the cluster (Kubernetes 1.36), only for the registries of tests.
 * Returns a function that removes the policy.
 */
export async function giveHostNetwork(api: Api, namespace: string): Promise<() => Promise<void>> {
  const name = `${namespace}-host-network`;
  const objects = {
    mutatingadmissionpolicies: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        },
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: { expression: 'Object{spec: Object.spec{hostNetwork: true}}' },
          },
        ],
      },
    },
    mutatingadmissionpolicybindings: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    },
  };
  for (const [plural, body] of Object.entries(objects))
    await call(api, { method: 'POST', path: `${base}/${plural}`, body, signal, accept: [409] });
  return async () => {
    for (const plural of Object.keys(objects).toReversed())
      await call(api, { method: 'DELETE', path: `${base}/${plural}/${name}`, signal, accept: [404] });
  };
}
