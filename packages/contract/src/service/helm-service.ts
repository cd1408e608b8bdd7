import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Optionals } from '../shape.ts';
import { kinds } from './kinds.ts';

const KubernetesService = Named(
  'KubernetesService',
  Type.Object({
    metadata: about('The metadata of the Service.', Optionals({ name: about('The name of the Service.', Type.String()) })),
    service_spec: Named(
      'KubernetesServiceSpec',
      Optionals({
        type: about('The type, such as `ClusterIP`.', Type.String()),
        ports: about(
          'The ports of the Service.',
          Type.Array(
            Named(
              'KubernetesServicePort',
              Type.Object({
                name: Type.Optional(about('The name of the port. Absent: it has none.', Type.String())),
                port: about('The number of the port.', Type.Integer()),
              }),
              'One port of a Service.',
            ),
          ),
        ),
        selectors: about(
          'The labels that its pods have.',
          Type.Array(
            Named(
              'KubernetesSelector',
              Type.Object({
                key: about('The key of the label.', Type.String()),
                value: about('The value of the label.', Type.String()),
              }),
              'A label of the pods that a Service leads to.',
            ),
          ),
        ),
      }),
      'The part of a Service that its `ports` can name.',
    ),
  }),
  'A Kubernetes Service of a chart.',
);

export const getHelmKubernetesServices = operation({
  id: 'getHelmKubernetesServices',
  method: 'GET',
  path: '/helm/{helmId}/listServices',
  tag: kinds.HELM.Noun,
  summary: 'List the Kubernetes Services of a chart',
  description: `
    Returns the Services that the deployed chart created, with ports and selectors: what \`ports\` of the Helm chart
    can name. The list is empty while the chart is not deployed. It is read from the cluster: 424 if that does not
    answer.
  `,
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(KubernetesService),
  errors: [424],
});
