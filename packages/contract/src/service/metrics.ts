import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, List, Named, Nullable, Optionals, Uuid } from '../shape.ts';
import type { Kind } from './kinds.ts';

const Amount = Type.Number({ minimum: 0 });

/** The resources that a service used in one interval. Memory and volumes are in MiB, as everywhere. */
const MetricsStep = Named(
  'MetricsStep',
  Type.Object({
    at: about('When the step begins.', Type.Unsafe<string>({ ...DateTime, description: 'Beginning of the step' })),
    instances: about('Running instances, on average.', Type.Number({ minimum: 0, description: 'Running instances, on average' })),
    maximum_instances: about('The most running instances.', Type.Integer({ minimum: 0 })),
    cpu: about(
      'Millicores of all instances together, on average; null: not measured.',
      Nullable(Type.Number({ minimum: 0, description: 'Millicores, of all instances together, on average; null: not measured' })),
    ),
    memory: about(
      'MiB of all instances together, on average.',
      Type.Number({ minimum: 0, description: 'MiB, of all instances together, on average' }),
    ),
    maximum_memory: about('MiB of all instances together, at most.', Amount),
    network_received_bytes: about('Bytes that its instances received.', Amount),
    network_sent_bytes: about('Bytes that its instances sent.', Amount),
    volumes: about(
      'MiB in its volumes; null: none, or not measurable.',
      Nullable(Type.Number({ minimum: 0, description: 'MiB; null: it has none, or they cannot be measured' })),
    ),
    requests: about(
      'HTTP and gRPC requests through the gateway, and TCP connections.',
      Type.Integer({ minimum: 0, description: 'HTTP and gRPC requests through the gateway; connections of TCP ports' }),
    ),
    responses: about(
      'Responses by class, those of the gateway included.',
      Named(
        'MetricsResponses',
        Type.Object({
          '1xx': about('Responses 100 to 199.', Type.Integer()),
          '2xx': about('Responses 200 to 299.', Type.Integer()),
          '3xx': about('Responses 300 to 399.', Type.Integer()),
          '4xx': about('Responses 400 to 499.', Type.Integer()),
          '5xx': about('Responses 500 to 599.', Type.Integer()),
        }),
        'The number of responses by class of status.',
      ),
    ),
    latency_ms: about(
      'Time until a response began; null: no instance responded.',
      Nullable(
        Named(
          'MetricsLatency',
          Type.Object(
            {
              p50: about('Half of them were faster.', Amount),
              p90: about('90 % of them were faster.', Amount),
              p99: about('99 % of them were faster.', Amount),
            },
            { description: 'Until an instance began its response; null: none of them responded' },
          ),
          'Milliseconds until an instance began its response.',
        ),
      ),
    ),
    latency_buckets: about(
      'How many responses were how fast.',
      Type.Array(
        Named(
          'MetricsLatencyBucket',
          Type.Object(
            {
              up_to_ms: about('The upper limit in milliseconds; null: all above.', Nullable(Amount)),
              count: about('How many were below it and above the one before.', Type.Integer({ minimum: 0 })),
            },
            { description: 'null: all above' },
          ),
          'The number of responses in a range of latency.',
        ),
      ),
    ),
  }),
  'What the service used in one step of time.',
);

export const ServiceMetrics = Named(
  'ServiceMetrics',
  Type.Object({
    service_id: about('The `id` of the service.', Uuid),
    step_seconds: about('The length of a step: 60, 300 or 3600.', Type.Integer()),
    ...List(MetricsStep).properties,
    scaling: about(
      'Automatic changes of the number of instances, newest first.',
      Type.Array(
        Named(
          'ServiceMetricsScaling',
          Type.Object({
            at: about('When it was decided.', DateTime),
            from: about('The number before.', Type.Integer()),
            to: about('The number after.', Type.Integer()),
            reason: about('Why, as a sentence with the measured values.', Type.String()),
          }),
          'An automatic change of the number of instances.',
        ),
        {
          description: 'Automatic changes of the number of instances, newest first',
        },
      ),
    ),
  }),
  'What a service used, in steps of time.',
);

/** The resources that a service used. */
export function metricsOperations<const K extends Kind>(kind: K) {
  return {
    metrics: operation({
      id: `get${kind.Noun as K['Noun']}Metrics`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/metrics`,
      tag: kind.Noun,
      summary: `Read the metrics of ${kind.one}`,
      description: `
        Returns CPU, memory, network, volumes, requests and latency of the last \`minutes\`, oldest first: per minute
        up to two hours back, per five minutes up to a day, else per hour. Steps without running instances and requests
        are left out.
      `,
      scope: 'READ',
      target: 'service',
      query: Optionals({
        minutes: about('How far to look back, at most 30 days.', Type.Integer({ minimum: 1, maximum: 43_200, default: 60 })),
      }),
      status: 200,
      response: ServiceMetrics,
      errors: [400],
    }),
  };
}
