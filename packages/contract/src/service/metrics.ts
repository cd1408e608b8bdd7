import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Optionals, Uuid, Named } from '../shape.ts';
import type { Kind } from './kinds.ts';

const Amount = Type.Number({ minimum: 0 });

/** The resources that a service used in one interval. Memory and volumes are in MiB, as everywhere. */
const MetricsStep = Named(
  'MetricsStep',
  Type.Object({
    at: Type.Unsafe<string>({ ...DateTime, description: 'Beginning of the step' }),
    instances: Type.Number({ minimum: 0, description: 'Running instances, on average' }),
    maximum_instances: Type.Integer({ minimum: 0 }),
    cpu: Nullable(
      Type.Number({ minimum: 0, description: 'Millicores, of all instances together, on average; null: not measured' }),
    ),
    memory: Type.Number({ minimum: 0, description: 'MiB, of all instances together, on average' }),
    maximum_memory: Amount,
    network_received_bytes: Amount,
    network_sent_bytes: Amount,
    volumes: Nullable(Type.Number({ minimum: 0, description: 'MiB; null: it has none, or they cannot be measured' })),
    requests: Type.Integer({ minimum: 0, description: 'HTTP and gRPC requests through the gateway; connections of TCP ports' }),
    responses: Named(
      'MetricsResponses',
      Type.Object({
        '1xx': Type.Integer(),
        '2xx': Type.Integer(),
        '3xx': Type.Integer(),
        '4xx': Type.Integer(),
        '5xx': Type.Integer(),
      }),
    ),
    latency_ms: Nullable(
      Named(
        'MetricsLatency',
        Type.Object(
          { p50: Amount, p90: Amount, p99: Amount },
          { description: 'Until an instance began its response; null: none of them responded' },
        ),
      ),
    ),
    latency_buckets: Type.Array(
      Named(
        'MetricsLatencyBucket',
        Type.Object({ up_to_ms: Nullable(Amount), count: Type.Integer({ minimum: 0 }) }, { description: 'null: all above' }),
      ),
    ),
  }),
);

export const ServiceMetrics = Named(
  'ServiceMetrics',
  Type.Object({
    service_id: Uuid,
    step_seconds: Type.Integer({ description: '60 up to two hours back, 300 up to a day, 3600 beyond' }),
    ...List(MetricsStep).properties,
    scaling: Type.Array(
      Named(
        'ServiceMetricsScaling',
        Type.Object({ at: DateTime, from: Type.Integer(), to: Type.Integer(), reason: Type.String() }),
      ),
      {
        description: 'Automatic changes of the number of instances in that time, of the last day, newest first',
      },
    ),
  }),
);

/** The resources that a service used. */
export function metricsOperations<const K extends Kind>(kind: K) {
  return {
    metrics: operation({
      id: `get${kind.Noun as K['Noun']}Metrics`,
      method: 'GET',
      path: `/${kind.noun as K['noun']}/{${kind.noun as K['noun']}Id}/metrics`,
      tag: kind.Noun,
      summary: `Read what ${kind.one} used in the last \`minutes\`, at most 30 days, oldest first; steps without running instances are omitted`,
      scope: 'READ',
      target: 'service',
      query: Optionals({ minutes: Type.Integer({ minimum: 1, maximum: 43_200, default: 60 }) }),
      status: 200,
      response: ServiceMetrics,
      errors: [400],
    }),
  };
}
