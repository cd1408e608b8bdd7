import type { Control } from '../../parts/control.ts';

/** Words for an advanced setting. Settings that are not listed here are shown by the name that the API gives them. */
export interface AdvancedWords {
  readonly label: string;
  readonly help: string;
  readonly control?: Control;
}

const seconds = { kind: 'number', unit: 'seconds' } as const;
const percent = { kind: 'number', unit: 'percent' } as const;

export const advancedWords: Readonly<Record<string, AdvancedWords>> = {
  'deployment.termination_grace_period_seconds': {
    label: 'Time to stop',
    help: 'Between SIGTERM and SIGKILL.',
    control: seconds,
  },
  'deployment.update_strategy.type': {
    label: 'Update strategy',
    help: 'Recreate: the running instances stop before new ones start.',
    control: { kind: 'choice', options: ['RollingUpdate', 'Recreate'] },
  },
  'deployment.custom_domain_check_enabled': { label: 'Check of domains', help: 'The log of a deployment reports DNS problems.' },
  'security.read_only_root_filesystem': { label: 'Read-only file system', help: 'Processes can write to volumes only.' },
  'hpa.cpu.average_utilization_percent': { label: 'Scale at processor', help: 'Instances are added above it.', control: percent },
  'hpa.memory.average_utilization_percent': {
    label: 'Scale at memory',
    help: 'Empty: memory is not considered.',
    control: percent,
  },
  'build.timeout_max_sec': { label: 'Longest build', help: 'A longer build has failed.', control: seconds },
  'build.cpu_max_in_milli': {
    label: 'Processor of builds',
    help: '1,000 is one core.',
    control: { kind: 'number', unit: 'millicores' },
  },
  'build.ram_max_in_gib': {
    label: 'Memory of builds',
    help: 'A build that needs more fails.',
    control: { kind: 'number', unit: 'GiB' },
  },
  'build.disable_buildkit_cache': { label: 'Build without cache', help: 'Every step of a build runs again.' },
  'network.ingress.proxy_body_size_mb': {
    label: 'Largest request',
    help: 'Requests that announce a longer body get 413; 0: no limit.',
    control: { kind: 'number', unit: 'MB' },
  },
  'network.ingress.proxy_connect_timeout_seconds': { label: 'Time to connect', help: 'To an instance.', control: seconds },
  'network.ingress.proxy_read_timeout_seconds': {
    label: 'Time to answer',
    help: 'Between two parts of a response over HTTP.',
    control: seconds,
  },
  'network.ingress.grpc_read_timeout_seconds': {
    label: 'Time to answer, gRPC',
    help: 'Between two parts of a response.',
    control: seconds,
  },
  'network.ingress.whitelist_source_range': {
    label: 'Allowed clients',
    help: 'Addresses and networks, separated by commas; others get 403.',
  },
  'network.ingress.denylist_source_range': { label: 'Refused clients', help: 'Addresses and networks, separated by commas.' },
  'network.ingress.enable_sticky_session': { label: 'Sticky sessions', help: 'A cookie keeps a client on one instance.' },
  'network.ingress.force_ssl_redirect': { label: 'Redirect to HTTPS', help: 'For custom domains that have a certificate.' },
  'network.ingress.enable_cors': { label: 'CORS', help: 'The gateway answers preflight requests.' },
  'network.ingress.cors_allow_origin': { label: 'CORS origins', help: 'Separated by commas; * is every origin.' },
  'network.ingress.cors_allow_methods': { label: 'CORS methods', help: 'Separated by commas.' },
  'network.ingress.cors_allow_headers': { label: 'CORS headers', help: 'Separated by commas.' },
  'network.ingress.extra_headers': { label: 'Headers of responses', help: 'A JSON object: {"X-Frame-Options": "DENY"}.' },
};
