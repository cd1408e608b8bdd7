import type { MetricsTotal } from '@davit/engine/port';

interface Metric {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  /** Returns the samples of one service: the suffix of the metric's name, additional labels, and the value. */
  readonly lines: (total: MetricsTotal) => readonly (readonly [suffix: string, labels: string, value: number])[];
}

const plain = (value: number | null | undefined): [string, string, number][] =>
  value === null || value === undefined ? [] : [['', '', value]];

function metricsOf(buckets: readonly number[]): readonly Metric[] {
  return [
    {
      name: 'davit_service_instances',
      type: 'gauge',
      help: 'Instances that run.',
      lines: ({ now }) => plain(now?.instances),
    },
    {
      name: 'davit_service_memory_bytes',
      type: 'gauge',
      help: 'Memory of all instances, without reclaimable file cache.',
      lines: ({ now }) => plain(now?.memoryBytes),
    },
    {
      name: 'davit_service_volume_bytes',
      type: 'gauge',
      help: 'Disk usage of the volumes.',
      lines: ({ now }) => plain(now?.volumeBytes),
    },
    {
      name: 'davit_service_cpu_seconds_total',
      type: 'counter',
      help: 'Processor time of all instances.',
      lines: ({ cpuMilliseconds }) => plain(cpuMilliseconds / 1000),
    },
    {
      name: 'davit_service_network_received_bytes_total',
      type: 'counter',
      help: 'Bytes that instances received.',
      lines: ({ receivedBytes }) => plain(receivedBytes),
    },
    {
      name: 'davit_service_network_sent_bytes_total',
      type: 'counter',
      help: 'Bytes that instances sent.',
      lines: ({ sentBytes }) => plain(sentBytes),
    },
    {
      name: 'davit_service_requests_total',
      type: 'counter',
      help: 'Requests through the gateway; connections of TCP ports.',
      lines: ({ requests }) => plain(requests),
    },
    {
      name: 'davit_service_responses_total',
      type: 'counter',
      help: 'Answers through the gateway, its own included, by class.',
      lines: ({ responses }) => responses.map((count, index) => ['', `,status="${index + 1}xx"`, count] as const),
    },
    {
      name: 'davit_service_instance_ends_total',
      type: 'counter',
      help: 'Unrequested ends of instances, by cause.',
      // Causes are codes of docs/errors.md.
      lines: ({ ends }) => Object.entries(ends).map(([cause, count]) => ['', `,cause="${cause.toLowerCase()}"`, count] as const),
    },
    {
      name: 'davit_service_condition',
      type: 'gauge',
      help: 'Open conditions; always 1. The series ends when the condition is cleared.',
      lines: ({ conditions }) =>
        conditions.map(({ kind, code, severity }) => ['', conditionLabels(kind, code, severity), 1] as const),
    },
    {
      name: 'davit_service_latency_seconds',
      type: 'histogram',
      help: 'Time until an instance began its answer. There is no sum.',
      lines: ({ latencyCounts }) => histogram(latencyCounts, buckets),
    },
  ];
}

function conditionLabels(kind: string, code: string, severity: string): string {
  return `,kind="${kind.toLowerCase()}",cause="${code.toLowerCase()}",severity="${severity.toLowerCase()}"`;
}

function histogram(counts: readonly number[], ends: readonly number[]): [string, string, number][] {
  let total = 0;
  const buckets = counts.map((count, index): [string, string, number] => {
    total += count;
    const end = ends[index];
    return ['_bucket', `,le="${end === undefined ? '+Inf' : end / 1000}"`, total];
  });
  return [...buckets, ['_count', '', total]];
}

/**
 * Renders the resource usage of services in the text format of Prometheus. Labels contain ids only: ids do not change
 * when names do, and the page needs no token.
 *
 * @param ends Upper bounds of the latency buckets, in milliseconds.
 */
export function renderServiceMetrics(totals: readonly MetricsTotal[], ends: readonly number[]): string {
  const labelled = totals.map((total) => ({
    total,
    labels: `organization_id="${total.organizationId}",project_id="${total.projectId}",environment_id="${total.environmentId}",service_id="${total.serviceId}"`,
  }));
  return metricsOf(ends)
    .map(({ name, type, help, lines }) => {
      const values = labelled.flatMap(({ total, labels }) =>
        lines(total).map(([suffix, more, value]) => `${name}${suffix}{${labels}${more}} ${value}\n`),
      );
      return values.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.join('')}`;
    })
    .join('');
}
