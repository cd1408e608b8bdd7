import Type from 'typebox';
import { operation } from '../operation.ts';
import { List, Optionals, Named } from '../shape.ts';
import { kinds } from './kinds.ts';

const KubernetesService = Named(
  'KubernetesService',
  Type.Object({
    metadata: Optionals({ name: Type.String() }),
    service_spec: Named(
      'KubernetesServiceSpec',
      Optionals({
        type: Type.String(),
        ports: Type.Array(
          Named('KubernetesServicePort', Type.Object({ name: Type.Optional(Type.String()), port: Type.Integer() })),
        ),
        selectors: Type.Array(Named('KubernetesSelector', Type.Object({ key: Type.String(), value: Type.String() }))),
      }),
    ),
  }),
);

export const getHelmKubernetesServices = operation({
  id: 'getHelmKubernetesServices',
  method: 'GET',
  path: '/helm/{helmId}/listServices',
  tag: kinds.HELM.Noun,
  summary: 'List the Kubernetes Services that a deployed chart created; none while it is not deployed',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(KubernetesService),
  errors: [424],
});
